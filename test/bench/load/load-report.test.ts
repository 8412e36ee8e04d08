// Tests the load scenario: its report, the end of an operation, and the names of rows.

import { describe, expect, it } from 'vitest'

import { disruptions } from './disruptions.ts'
import { installations } from './installations.ts'
import { loadSections } from './load-report.ts'
import type { Measurement } from './measure.ts'
import { chooseRows, type RowResult } from './rows.ts'

const [row] = chooseRows(['20x5'], ['mock'])
const reference = { engine: 'other', rows: { '20x5 mock': { create: { wallMs: 8000, writes: 900, cpuSeconds: 12 } } } }

describe('The report of a row', () => {
  it('shows medians, and the fastest and the slowest run, for measured operations only', () => {
    const [figures] = loadSections([measured(1000, 4000, 2000)], reference)
    const cells = ['2.00 (1.00-4.00)', '100', '1.50', '1.90', '300', '0', '200', '0', '6.00', '300', '0.000']
    expect(cellsOf(figures, '20x5 mock, create')).toEqual(cells)
    expect(figures).not.toContain('20x5 mock, delete')
  })

  it('compares with the reference and the goal', () => {
    const [, ratios] = loadSections([measured(2000)], reference)
    expect(cellsOf(ratios, '20x5 mock, create')).toEqual(['4.00x', '5x, missed', '3.00x', '2.00x'])
  })
})

describe('The end of an operation', () => {
  const { endOf } = installations
  const state = (phase: string, jobID: string, jobIDFinished?: string) => ({
    metadata: { name: 'a' },
    status: { phase, jobID, ...(jobIDFinished !== undefined && { jobIDFinished }) },
  })
  const since = (jobBefore?: string) => ({ isDeleted: false, jobBefore })

  it('on an Installation is the end of a new job', () => {
    expect(endOf('create', state('Succeeded', '1', '1'), since())).toBe('succeeded')
    expect(endOf('create', state('Failed', '1', '1'), since())).toBe('failed')
    expect(endOf('reconcile', state('Succeeded', '1', '1'), since('1'))).toBeUndefined()
    expect(endOf('reconcile', state('Progressing', '2', '1'), since('1'))).toBeUndefined()
    expect(endOf('reconcile', state('Succeeded', '2', '2'), since('1'))).toBe('succeeded')
  })

  it('is the disappearance of the object for a deletion, and a failure for other operations', () => {
    const gone = { isDeleted: true, jobBefore: '1' }
    expect(endOf('delete', state('Deleting', '2', '1'), gone)).toBe('succeeded')
    expect(endOf('reconcile', state('Deleting', '2', '1'), gone)).toBe('failed')
    expect(endOf('delete', state('DeleteFailed', '2', '2'), since('1'))).toBe('failed')
  })

  it('on a Disruption is Injected, or its disappearance', () => {
    const injected = { metadata: { name: 'a' }, status: { injectionStatus: 'Injected' } }
    expect(disruptions.endOf('create', { ...injected, status: {} }, since())).toBeUndefined()
    expect(disruptions.endOf('create', injected, since())).toBe('succeeded')
    expect(disruptions.endOf('delete', injected, since())).toBeUndefined()
    expect(disruptions.endOf('delete', injected, { isDeleted: true, jobBefore: undefined })).toBe('succeeded')
  })
})

describe('The name of a row', () => {
  it('contains the number of Installations, the number of items, and the shape', () => {
    expect(chooseRows(['3x7-chain'], ['manifest'])).toEqual([
      {
        name: '3x7-chain',
        objects: 3,
        items: 7,
        shape: 'chain',
        deployer: 'manifest',
        namespaces: 1,
        goal: undefined,
      },
    ])
  })

  it('needs no shape when the table has one', () => {
    const named = chooseRows(['1x10', '1x10-wide', '20x5', '20x5-wide'], ['mock'])
    expect(named.map(({ name, shape }) => [name, shape])).toEqual([
      ['1x10-chain', 'chain'],
      ['1x10-wide', 'wide'],
      ['20x5', 'wide'],
      ['20x5', 'wide'],
    ])
  })

  it.each(['5', '0x1', '1x0', '1x10-deep', 'x'])('%s is refused', (name) => {
    expect(() => chooseRows([name], ['mock'])).toThrow(`found ${name}`)
  })
})

function measured(...wallsMs: readonly number[]): RowResult {
  const run = (wallMs: number): Measurement => ({
    objects: 20,
    wallMs,
    p50Ms: 1500,
    p99Ms: 1900,
    requests: { writes: 300, events: 0, reads: 200, conflicts: 0, byResource: {} },
    usages: { worker: { cpuSeconds: 6, peakMemoryMiB: 100 } },
    cpuSeconds: 6,
    benchCpuSeconds: 1,
    otherCpuSeconds: 0,
    machineLoad: 1,
  })
  return { row: row!, runs: new Map([['create', wallsMs.map(run)]]) }
}

function cellsOf(section: string | undefined, row: string): readonly string[] {
  const line = section?.split('\n').find((one) => one.startsWith(`| ${row}`)) ?? ''
  return line
    .split('|')
    .map((cell) => cell.trim())
    .slice(2, -1)
}
