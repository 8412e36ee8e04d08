// Patterns of schemas are written for Go's regular expressions; this reads what is cheap to read of them as JavaScript's.
// Source: spec/landscaper.md 3.11 (the original's validator), https://pkg.go.dev/regexp/syntax.

const CLASSES: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  digit: '0-9',
  lower: 'a-z',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}
const ANCHORS: Readonly<Record<string, string>> = { A: '^', z: '$' }

/** @throws SyntaxError for what is no pattern. */
export function readPattern(pattern: string): RegExp {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)([\s\S]*)$/.exec(pattern) ?? []
  const text = rest
    .replace(/\\([\s\S])/g, (whole, escaped: string) => ANCHORS[escaped] ?? whole)
    .replace(
      /\[:([a-z]+):\]/g,
      (whole, name: string) => (Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined) ?? whole,
    )
    .replace(/\(\?P</g, '(?<')
  try {
    return new RegExp(text, `u${flags}`)
  } catch (error) {
    // Escapes such as \- or \_ are only known to the older syntax.
    if (error instanceof SyntaxError) return new RegExp(text, flags)
    throw error
  }
}
