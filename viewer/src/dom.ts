// SPDX-License-Identifier: Apache-2.0
// Builds elements. Text goes in as text nodes only, so no name in a report can become markup.

type Child = Node | string | null | undefined;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}

/** A part of the page with a heading, which the navigation names. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return element(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title),
    ...children,
  );
}

/** A path or a name of C++ that breaks into lines at its parts first. */
export function breakable(text: string): Node[] {
  const parts = text.split(/(?<=[/,:(])(?![/:])/);
  return parts.flatMap((part, i) =>
    i === 0 ? [document.createTextNode(part)] : [element("wbr"), document.createTextNode(part)],
  );
}

export function note(text: string): HTMLElement {
  return element("p", { class: "note" }, text);
}

/** A command to type, with a button that copies it. */
export function command(text: string): HTMLElement {
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(text).then(
      () => (button.textContent = "Copied"),
      () => (button.textContent = "Not copied"),
    );
  });
  return element("div", { class: "command" }, element("code", {}, text), button);
}
