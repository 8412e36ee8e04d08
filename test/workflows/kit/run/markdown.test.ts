// Errors in the details of runs, which Temporal's UI shows as Markdown.

import { describe, expect, it } from 'vitest'

import { quoted, quotedLines } from '../../../../workflows/kit/run/markdown.ts'

const FENCE = '`'.repeat(6)

describe('an error in Markdown', () => {
  it('is quoted as it is, in one line', () => {
    expect(quoted('template: <.a> is\n "*nil*"', 100)).toBe('`template: <.a> is "*nil*"`')
    expect(quoted('a `b` c', 100)).toBe("`a 'b' c`")
    expect(quoted('abcdef', 3)).toBe('`abc...`')
    expect(quoted(' ', 3)).toBe('')
  })

  it('keeps its lines where it has several', () => {
    expect(quotedLines('one line', 100)).toBe(' `one line`')
    expect(quotedLines('a\n> b\n``````\nc', 100)).toBe(`\n\n${FENCE}\na\n> b\n${"'".repeat(6)}\nc\n${FENCE}`)
  })
})
