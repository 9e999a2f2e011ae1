-- SPDX-License-Identifier: Apache-2.0
create table word(id integer primary key, text varchar, length integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into word(text, length) select printf('w%05d', (i * 7919) % 3001), i % 17 from n;
create index by_text on word(text);
select count(*), sum(length), min(text), max(text) from word;
select length, count(*), group_concat(substr(text, 1, 3)) from word where id < 60 group by length order by length;
update word set length = length + 1 where text like '%7';
delete from word where id % 3 = 0;
select count(*), total(length) from word;
select round(avg(length), 6), hex(text) from word group by length order by 1, 2 limit 5;
