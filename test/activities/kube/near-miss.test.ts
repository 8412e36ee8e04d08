// Which keys are taken for misspelt ones.

import { describe, expect, it } from 'vitest'

import { nearMisses } from '../../../activities/kube/near-miss.ts'

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
