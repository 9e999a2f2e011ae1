// SPDX-License-Identifier: Apache-2.0
// What tests see in a page: functions that run inside of it.

/** Texts of one chart that cover each other, and texts that lie outside of their chart's place. `charts`: a selector. */
export function badTexts(charts = ".chart") {
  const found = [];
  for (const chart of document.querySelectorAll(charts)) {
    const place = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("svg text")].filter((text) => text.textContent.trim() !== "");
    const boxes = texts.map((text) => ({
      text: text.textContent,
      box: text.getBoundingClientRect(),
    }));
    const shown = boxes.filter(({ box }) => box.width > 0);
    shown.forEach(({ text, box }, i) => {
      if (box.left < place.left - 1 || box.right > place.right + 1) found.push(`outside: ${text}`);
      for (const other of shown.slice(i + 1)) {
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (wide > 1 && high > 3) found.push(`${text} over ${other.text}`);
      }
    });
  }
  return found;
}

/** The contrast of text with what is behind it, as WCAG 2 defines it; the least of the elements that a selector finds. */
export function leastContrast(selector) {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) =>
      value <= 10.3 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const contrasts = [...document.querySelectorAll(selector)].map((element) => {
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
  return Math.min(...contrasts);
}
