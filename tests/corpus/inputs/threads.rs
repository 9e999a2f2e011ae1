// SPDX-License-Identifier: Apache-2.0
// Run by the corpus for Rust: threads, channels, locks, a caught panic, a child.
use std::collections::{BTreeMap, HashMap};
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread;

fn main() {
    let map = Arc::new(Mutex::new(BTreeMap::new()));
    let threads: Vec<_> = (0..8u64)
        .map(|i| {
            let map = map.clone();
            thread::spawn(move || {
                for k in 0..500 {
                    *map.lock().unwrap().entry(k % 37).or_insert(0u64) += i * k;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{:?}", map.lock().unwrap());
    let (sender, receiver) = mpsc::channel();
    for i in 0..4 {
        let sender = sender.clone();
        thread::spawn(move || (0..100).for_each(|k| sender.send(i * k).unwrap()));
    }
    drop(sender);
    println!("{}", receiver.iter().sum::<i32>());
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    let shared = RwLock::new(HashMap::from([(1, "one")]));
    shared.write().unwrap().insert(2, "two");
    println!("{:?} {:?}", shared.read().unwrap().get(&2), std::panic::catch_unwind(|| panic!("caught")).is_err());
    println!("{}", (1..=200u32).fold(1.0f64, |a, n| a * (1.0 + 1.0 / n as f64)));
    println!("{:?}", std::process::Command::new("true").status().unwrap().code());
}
