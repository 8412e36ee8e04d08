import { describe, expect, it } from 'vitest'

import { kindFieldsOf, kindNamesOf, leavesNothing } from '../../../workflows/chaos/contract.ts'
import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import { openApiSchema } from '../../../workflows/kit/index.ts'

describe('the kinds of a Disruption', () => {
  it('have the order of chaos pod creation, independent of the spec', () => {
    const spec = { podReplacement: {}, dns: {}, cpuPressure: {}, diskFailure: null, network: {} }
    expect(kindNamesOf(spec)).toEqual(['network-disruption', 'cpu-pressure', 'dns-disruption', 'pod-replacement'])
    expect(kindFieldsOf(spec)).toEqual(['network', 'cpuPressure', 'dns', 'podReplacement'])
    expect(kindNamesOf({})).toEqual([])
  })

  it('need a clean-up, except those that end their target', () => {
    const names = ['node-failure', 'container-failure', 'pod-replacement']
    expect(names.filter(leavesNothing)).toEqual(names)
    expect(['network-disruption', 'dns-disruption', 'other'].filter(leavesNothing)).toEqual([])
  })
})

describe('the schema of Disruptions', () => {
  const spec = openApiSchema(disruptionKind).properties?.['spec']

  it('has a field for each kind', () => {
    const all = Object.fromEntries(Object.keys(spec?.properties ?? {}).map((name) => [name, {}]))
    expect(kindFieldsOf(all)).toHaveLength(10)
  })

  it('accepts a count as a number or a percentage', () => {
    expect(spec?.required).toEqual(['count'])
    expect(spec?.properties?.['count']).toMatchObject({ 'x-kubernetes-int-or-string': true, minimum: 1 })
  })
})
