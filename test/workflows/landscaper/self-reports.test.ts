// The objects that report the state of the engine, in the format of Landscaper. Source: spec/landscaper.md 1.10, 1.11, 5.9.

import { describe, expect, it } from 'vitest'
import { criticalProblemsKind } from '../../../workflows/landscaper/critical-problems/kind.ts'
import { lsHealthCheckKind } from '../../../workflows/landscaper/ls-health-check/kind.ts'
import { selfReports } from '../../../workflows/landscaper/self-reports.ts'

const AT = '2030-01-01T00:00:00.000Z'
const { health, problems } = selfReports

describe('the health of the engine', () => {
  it('has the API version, kind and plural of its definition', () => {
    expect(lsHealthCheckKind).toMatchObject({ apiVersion: health.apiVersion, kind: health.kind, plural: health.plural })
  })

  it('is read back with the written state and time', () => {
    const written = health.fields({ state: 'Failed', at: AT, description: 'no worker is running' })
    expect(written).toEqual({ status: 'Failed', lastUpdateTime: AT, description: 'no worker is running' })
    expect(health.read(written)).toEqual({ state: 'Failed', at: AT })
  })

  it.each([{}, { status: 'Fine', lastUpdateTime: AT }, { status: 7 }])('is undefined for the object %j', (object) => {
    expect(health.read(object)).toBeUndefined()
  })
})

describe('the list of problems', () => {
  const problem = (description: string) => ({ place: 'pod-1', at: AT, description })
  const entry = (description: string) => ({ podName: 'pod-1', creationTime: AT, description })

  it('has the API version, kind and plural of its definition', () => {
    const { apiVersion, kind, plural } = problems
    expect(criticalProblemsKind).toMatchObject({ apiVersion, kind, plural })
  })

  it('contains the ten newest problems, the newest first', () => {
    const all = Array.from({ length: 12 }, (_, index) => `problem ${index}`)
    const object = all.reduce<object | undefined>((before, text) => problems.with(before, problem(text)), undefined)
    expect(object).toEqual({ spec: { criticalProblem: all.toReversed().slice(0, 10).map(entry) } })
  })

  it('shortens descriptions to 2000 characters, and replaces an invalid list', () => {
    const object = problems.with({ spec: { criticalProblem: 'garbage' } }, problem('x'.repeat(5000)))
    expect(object).toEqual({ spec: { criticalProblem: [entry(`${'x'.repeat(1997)}...`)] } })
  })
})
