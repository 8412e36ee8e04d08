// Which keys are taken for misspelt ones.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { nearMisses } from '../../../activities/landscaper/near-miss.ts'
import { nearest } from '../../../workflows/kit/dsl/suggest.ts'

const KNOWN = ['kind', 'imports', 'exports', 'deployExecutions', 'jsonSchemaVersion', 'manifests']

describe('a key that is not known', () => {
  it.each([
    ['deployExecution', 'deployExecutions'],
    ['DeployExecutions', 'deployExecutions'],
    ['depolyExecutions', 'deployExecutions'],
    ['manifest', 'manifests'],
    ['import', 'imports'],
    ['knid', 'kind'],
  ])('%s is taken for %s', (found, meant) => {
    expect(nearMisses({ [found]: [] }, KNOWN)).toEqual([{ found, meant }])
  })

  it.each(['jsonSchema', 'annotations', 'mind-map', 'x', '', 'executions', 'a'.repeat(100_000), '__proto__'])(
    'is let be when it is none of ours',
    (key) => {
      expect(nearMisses(Object.fromEntries([[key, 1]]), KNOWN)).toEqual([])
    },
  )

  it('does not mean a key that is there, unless that says nothing', () => {
    expect(nearMisses({ imports: [], import: [] }, KNOWN)).toEqual([])
    expect(nearMisses({ imports: null, import: [] }, KNOWN)).toEqual([{ found: 'import', meant: 'imports' }])
  })
})

// Neither may import the other: the language knows nothing but itself, activities nothing of it (test/architecture.test.ts).
describe('a misspelt key of an object and a misspelt word of a document', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '-'), minLength: 3, maxLength: 12 })
  const edit = fc.tuple(fc.constantFrom('drop', 'add', 'change', 'swap'), fc.nat(11), fc.constantFrom('a', 'b', 'x'))

  it('are measured alike', () => {
    let [near, far] = [0, 0]
    const isMeasuredAlike = (known: string, edits: readonly (readonly [string, number, string])[]) => {
      const found = edits.reduce((text, [how, at, letter]) => edited(text, how, at % text.length, letter), known)
      fc.pre(found !== known && found !== '' && found !== '__proto__')
      const isNear = nearest(found, [known]) === known
      expect(nearMisses({ [found]: 1 }, [known])).toEqual(isNear ? [{ found, meant: known }] : [])
      if (isNear) near++
      else far++
    }
    fc.assert(fc.property(word, fc.array(edit, { minLength: 1, maxLength: 3 }), isMeasuredAlike), { numRuns: 2000 })
    expect(Math.min(near, far)).toBeGreaterThan(100)
  })
})

function edited(text: string, how: string, at: number, letter: string): string {
  const [before, after] = [text.slice(0, at), text.slice(at + 1)]
  if (how === 'drop') return before + after
  if (how === 'add') return before + letter + text.slice(at)
  if (how === 'change') return before + letter + after
  return before + after.slice(0, 1) + text.slice(at, at + 1) + after.slice(1)
}
