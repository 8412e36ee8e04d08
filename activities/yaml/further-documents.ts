// Tells whether a text holds more than the one YAML document that its reader uses. Exact: a line that begins with `---` or `...` is a marker wherever it
// stands, also inside of quotes and blocks.

const MARKER = /^(?:---|\.\.\.)(?=\s|$)/m
const CONTENT = /^[^\S\n]*[^\s#%]/m

/** Whether a document with content follows the first one. */
export function hasFurtherDocuments(text: string): boolean {
  if (!MARKER.test(text)) return false
  const [before = '', ...parts] = text.split(new RegExp(MARKER, 'gm'))
  // The text before the first marker is a document unless it has only comments and directives. Then the first document
  // follows the marker.
  const further = CONTENT.test(before) ? parts : parts.slice(1)
  return further.some((part) => CONTENT.test(part))
}
