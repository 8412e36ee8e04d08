// Computes the difference of two long texts for display, line by line. Pure.

import { structuredPatch } from 'diff'

const CONTEXT = 1
const MOST_LINES = 40
/** Beyond this the comparison takes seconds. */
const MOST_EDITS = 2000

/**
 * The changed lines with one line of context: removed lines begin with `-`, added lines with `+`, other lines with a space. A line `...` separates
 * distant changes. Undefined if the texts are equal or differ too much.
 */
export function differenceOf(before: string, after: string): readonly string[] | undefined {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: MOST_EDITS })
  if (patch === undefined || patch.hunks.length === 0) return undefined
  const lines = patch.hunks.flatMap(({ lines }, index) => [
    ...(index === 0 ? [] : ['...']),
    ...lines.filter((line) => !line.startsWith('\\')),
  ])
  return lines.length > MOST_LINES
    ? [...lines.slice(0, MOST_LINES), `... and ${lines.length - MOST_LINES} more lines`]
    : lines
}

const BASE64 = /^[A-Za-z0-9+/]{16,}={0,2}$/

/** The text that a base64 text encodes; the text itself if it is no base64 of printable UTF-8. */
export function decodedText(text: string): string {
  if (!BASE64.test(text) || text.length % 4 !== 0) return text
  const bytes = Buffer.from(text, 'base64')
  const decoded = bytes.toString('utf8')
  // Control characters show that the bytes are no text.
  return /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(decoded) ? text : decoded
}
