// Formats the API server's words about a refused field without values. The words have the form of k8s.io/apimachinery's field errors:
// `<kind of mistake>[: <value>][: <reason>]`. Pure.
//
//   F1. The value is never kept. If the end of the value is unclear, the reason is dropped too.
//   F2. Of the reason only the first line is kept, up to the first value in Go's syntax: the API server appends the differences of two objects.
//   F3. Texts in double quotes are values, except the list of supported values. Every text of the request body is removed.

import { blankValues } from './blank-values.ts'
import { withoutSent } from './sent-texts.ts'

const MISTAKE =
  /^(Invalid value|Unsupported value|Duplicate value|Not found|Required value|Forbidden|Too long|Too many|Too few|Internal error)(?:: ([^]*))?$/
/** Mistakes whose words begin with the value. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  ...['Invalid value', 'Unsupported value', 'Duplicate value', 'Not found', 'Too many', 'Too few'],
])
const SUPPORTED = /^supported values: (?:"[\w./:-]{1,63}"(?:, )?)+$/
const GO_VALUE = /[\w.*\]]+(?:\{|\[[\w.*]*\][\w.*]*\{)/
const LONGEST_REASON = 300
// Longer messages are cut before they are searched.
const LONGEST_READ = 100_000

/** @param sent the body of the request. @returns undefined where the words have another form. */
export function refusedField(message: string, sent: unknown): string | undefined {
  const [, mistake, rest = ''] = MISTAKE.exec(message.slice(0, LONGEST_READ)) ?? []
  if (mistake === undefined) return undefined
  const reason = WITH_VALUE.has(mistake) ? afterValue(rest) : rest
  const shown = reason === undefined ? '' : withoutValues(reason, sent)
  return shown === '' ? mistake : `${mistake}: ${shown}`
}

function withoutValues(reason: string, sent: unknown): string {
  const [line = ''] = reason.split('\n')
  const words = line.slice(0, GO_VALUE.exec(line)?.index).trim()
  const kept = withoutSent(words, sent)
  const blank = SUPPORTED.test(kept) ? kept : blankValues(kept).replace(/: "\.\.\."$/, '')
  return blank.length <= LONGEST_REASON ? blank : `${blank.slice(0, LONGEST_REASON)}...`
}

/** Returns the text after the value and a colon; undefined if that is missing or the end of the value is unclear. */
function afterValue(rest: string): string | undefined {
  const end = endOfValue(rest)
  return end !== undefined && rest.startsWith(': ', end) ? rest.slice(end + 2) : undefined
}

const OPEN = '([{'
const CLOSE = ')]}'

/** Where the value at the beginning ends: a quoted text, a word or number, JSON, or Go's syntax with brackets. */
function endOfValue(text: string): number | undefined {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') {
      const quoted = /"(?:[^"\\]|\\.)*"/sy
      quoted.lastIndex = at
      if (!quoted.test(text)) return undefined
      at = quoted.lastIndex - 1
    } else if (OPEN.includes(character)) depth++
    else if (CLOSE.includes(character)) depth--
    if (depth < 0) return undefined
    if (depth === 0 && (at + 1 === text.length || text.startsWith(': ', at + 1))) return at + 1
    if (depth === 0 && character === ' ') return undefined
  }
  return undefined
}
