/** Elements and texts. Nothing is ever parsed as HTML: names of runs, models and files come from outside. */

type Child = Node | string

/** `T` is what the page has there. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function byId<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id)
  if (!found) throw new Error(`the page has no ${id}`)
  return found as unknown as T
}

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

export function drawn(tag: string, attributes: Readonly<Record<string, string | number>> = {}, ...children: readonly Child[]): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children)
  return made
}

/** A spot of a colour of the style sheet, or a dashed line. */
export function swatch(colour: string, { dash = false }: { readonly dash?: boolean | undefined } = {}): HTMLElement {
  const made = element('span', { class: dash ? 'swatch dashed' : 'swatch' })
  made.style.setProperty('--swatch', `var(--${colour})`)
  return made
}

/** Sets a text only where it differs, so that screen readers are told of changes alone. */
export function say(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text
}

/** A table with a line of titles. */
export function fillTable(table: HTMLTableElement, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const head = element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)))
  const body = rows.map((row) => element('tr', {}, ...row.map((cell) => element('td', {}, cell))))
  table.replaceChildren(element('thead', {}, head), element('tbody', {}, ...body))
}

/** The value of a custom property of the style sheet, which depends on dark and light. */
export function styleOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
