// Suggestions for misspelt words and keys.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { nearest, nearMisses } from '../../../../workflows/kit/kind/near-words.ts'

const KNOWN = ['kind', 'imports', 'exports', 'deployExecutions', 'jsonSchemaVersion', 'manifests']

describe('an unknown key', () => {
  it.each([
    ['deployExecution', 'deployExecutions'],
    ['DeployExecutions', 'deployExecutions'],
    ['depolyExecutions', 'deployExecutions'],
    ['manifest', 'manifests'],
    ['import', 'imports'],
    ['knid', 'kind'],
  ])('%s suggests %s', (found, meant) => {
    expect(nearMisses({ [found]: [] }, KNOWN)).toEqual([{ found, meant }])
  })

  it.each(['jsonSchema', 'annotations', 'mind-map', 'x', '', 'executions', 'a'.repeat(100_000), '__proto__'])(
    'is let be when it is none of ours',
    (key) => {
      expect(nearMisses(Object.fromEntries([[key, 1]]), KNOWN)).toEqual([])
    },
  )

  it('does not suggest a key that is present, unless its value is null', () => {
    expect(nearMisses({ imports: [], import: [] }, KNOWN)).toEqual([])
    expect(nearMisses({ imports: null, import: [] }, KNOWN)).toEqual([{ found: 'import', meant: 'imports' }])
  })
})

describe('the nearest word', () => {
  it('is the first of those that are equally near', () => {
    expect(nearest('exportz', ['exported', 'exports', 'export'])).toBe('exports')
    expect(nearest('cat', ['bat', 'hat'])).toBe('bat')
  })

  it('is undefined when every letter differs', () => {
    expect(nearest('x', ['a', 'b'])).toBeUndefined()
  })

  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '-'), minLength: 3, maxLength: 12 })
  const how = fc.constantFrom('drop', 'add', 'change', 'swap')
  const letter = fc.constantFrom('a', 'b', 'x')

  it('differs by one missing, added, changed or transposed letter', () => {
    const isFound = (known: string, edit: string, at: number, other: string) => {
      expect(nearest(edited(known, edit, at % known.length, other), [known])).toBe(known)
    }
    fc.assert(fc.property(word, how, fc.nat(11), letter, isFound), { numRuns: 2000 })
  })
})

function edited(text: string, how: string, at: number, letter: string): string {
  const [before, after] = [text.slice(0, at), text.slice(at + 1)]
  if (how === 'drop') return before + after
  if (how === 'add') return before + letter + text.slice(at)
  if (how === 'change') return before + letter + after
  return before + after.slice(0, 1) + text.slice(at, at + 1) + after.slice(1)
}
