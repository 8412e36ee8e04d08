import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { specProblems, specProblemsText } from '../../../../../workflows/chaos/disruption/rules/spec.ts'
import { specWith, DROP, REFUSED, ACCEPTED } from '../spec-cases.ts'

const fieldsWrong = (spec: unknown) => specProblems(spec).map(({ field }) => field)

describe('the rules about specs', () => {
  it.each(ACCEPTED)('accept %j', (spec) => {
    expect(specProblems(specWith(spec))).toEqual([])
  })

  it.each(REFUSED)('report $fields in $spec', ({ spec, fields }) => {
    expect(fieldsWrong(specWith(spec))).toEqual(fields)
  })

  it('report all problems at once, each with its kind', () => {
    const problems = specProblems({
      count: 0,
      selector: { app: 'a' },
      network: {},
      nodeFailure: {},
      level: 'node',
      containers: ['b'],
    })
    expect(specProblemsText(problems).split(' | ')).toEqual([
      'Spec: spec.count: found 0; expected a whole number of at least 1, or a share from 1% to 100%',
      'Spec: NodeFailure: spec.nodeFailure: found network beside it; expected no other kind',
      'Spec: spec.containers: found containers and level node; expected no containers with level node',
      'Spec: Network: spec.network: found no effect; expected at least one of drop, duplicate, corrupt, delay, bandwidthLimit',
    ])
  })

  it('describe the expected kinds for a spec without a kind', () => {
    expect(specProblems(specWith({}))[0]?.expected).toContain('at least one kind')
  })

  it('accept templates without a selector', () => {
    const template = { count: 1, ...DROP }
    expect(specProblems(template, { at: 'spec.disruptionTemplate', isTemplate: true })).toEqual([])
    expect(specProblems({ ...template, count: 0 }, { at: 'spec.disruptionTemplate', isTemplate: true })).toMatchObject([
      { field: 'spec.disruptionTemplate.count' },
    ])
  })

  it('never throw, for any value', () => {
    const known = [
      'network',
      'dns',
      'grpc',
      'pulse',
      'triggers',
      'selector',
      'advancedSelector',
      'unsafeMode',
      'diskFailure',
    ]
    const inner = [
      'hosts',
      'http',
      'methods',
      'records',
      'record',
      'endpoints',
      'config',
      'countTooLarge',
      'paths',
      'inject',
    ]
    const value = fc.letrec<{ any: unknown; deep: unknown }>((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), tie('deep'), fc.array(tie('deep'), { maxLength: 3 })),
      deep: fc.dictionary(fc.constantFrom(...known, ...inner), tie('any'), { maxKeys: 5 }),
    }))
    fc.assert(
      fc.property(value.any, (spec) => {
        expect(specProblems(spec).length).toBeGreaterThan(0)
      }),
    )
  })
})
