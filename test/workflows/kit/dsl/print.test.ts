import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { collector } from '../../../../workflows/kit/dsl/diagnostic.ts'
import { print } from '../../../../workflows/kit/dsl/index.ts'
import { parse } from '../../../../workflows/kit/dsl/parser.ts'
import { anyDocument, withoutPlaces } from './arbitraries.ts'
import { FULL_DOCUMENT, MODES_DOCUMENT, RFC_DOCUMENT } from './documents.ts'

describe('a printed document', () => {
  it('parses to the same document', () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        const { report, diagnostics } = collector()
        expect(withoutPlaces(parse(print(document), report))).toEqual(withoutPlaces(document))
        expect(diagnostics).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  it.each([RFC_DOCUMENT, FULL_DOCUMENT, MODES_DOCUMENT])(
    'keeps comments of statements and is printed the same again',
    (text) => {
      const once = print(parse(text, () => undefined))
      expect(print(parse(once, () => undefined))).toBe(once)
      const comments = text.split('\n').filter((line) => /^\s*\/\//.test(line))
      expect(once.split('\n').filter((line) => /^\s*\/\//.test(line))).toHaveLength(comments.length)
    },
  )

  it('has a section for states, one for actions, and quotes where they are needed', () => {
    const text = `bind v1 ./core.ts\nalias Pod v1/Pod\n// Doc.\ndecl X for Pod{action{A( a,b )}state{a []Pod{labels/b = "c d"
owned}}state{b Pod{name="x-\${target.Name}"}}}`
    expect(print(parse(text, () => undefined))).toBe(`bind v1 ./core.ts

alias Pod v1/Pod

// Doc.
decl X for Pod {
  state {
    a []Pod {
      labels/b="c d"
      owned
    }

    b Pod {
      name=x-\${target.Name}
    }
  }

  action {
    A(a, b)
  }
}
`)
  })
})
