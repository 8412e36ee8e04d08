// The table's figures and ratios, from measurements made up for it.

import { describe, expect, it } from 'vitest'

import type { Baseline } from './figures.ts'
import { endOf } from './load.ts'
import type { Measurement } from './measure.ts'
import { chooseRows, type RowResult } from './rows.ts'
import { geometricMean, median, quantile } from './statistics.ts'
import { tableSections } from './table-report.ts'
import type { Yardsticks } from './yardsticks.ts'

const [row] = chooseRows(['20x5'], ['mock'])
const reference = { engine: 'other', rows: { '20x5 mock': { create: { wallMs: 8000, writes: 900, cpuSeconds: 12 } } } }

describe('the report of a row', () => {
  it('shows medians, and the fastest and the slowest run', () => {
    const [figures] = tableSections([measured(1000, 4000, 2000)], {
      reference,
      baseline: undefined,
      yardsticks: undefined,
    })
    expect(cellsOf(figures, '20x5 mock, create').slice(0, 5)).toEqual(['2.00 (1.00-4.00)', '1.50', '1.90', '300', '0'])
  })

  it('shows how many times as fast as the reference it is', () => {
    const [, ratios] = tableSections([measured(2000)], { reference, baseline: undefined, yardsticks: undefined })
    expect(cellsOf(ratios, '20x5 mock, create')).toEqual(['4.00x', '5x, missed', '3.00x', '2.00x', '-', '-', '-'])
  })

  it('scales times and CPU of the baseline, but not its writes, by how slow the machine is now, and marks what got worse', () => {
    const then = baseline({ wallMs: 1000, writes: 300, cpuSeconds: 2 }, 100)
    const yardsticks = { before: speed(50), after: speed(50) }
    const [, ratios] = tableSections([measured(2000)], { reference, baseline: then, yardsticks })
    expect(cellsOf(ratios, '20x5 mock, create').slice(4)).toEqual(['1.00x', '1.00x', '**0.667x**'])
  })

  it('has no line for an operation that was not measured', () => {
    const [figures] = tableSections([measured(2000)], { reference, baseline: undefined, yardsticks: undefined })
    expect(figures).not.toContain('20x5 mock, delete')
  })
})

describe('the end of an Installation', () => {
  const state = (phase: string, jobID: string, jobIDFinished?: string) => ({
    metadata: { name: 'a' },
    status: { phase, jobID, ...(jobIDFinished !== undefined && { jobIDFinished }) },
  })
  const since = (jobBefore?: string) => ({ isDeleted: false, jobBefore })

  it('is that of a job which was not there before', () => {
    expect(endOf('create', state('Succeeded', '1', '1'), since())).toBe('well')
    expect(endOf('create', state('Failed', '1', '1'), since())).toBe('badly')
    expect(endOf('reconcile', state('Succeeded', '1', '1'), since('1'))).toBeUndefined()
    expect(endOf('reconcile', state('Progressing', '2', '1'), since('1'))).toBeUndefined()
    expect(endOf('reconcile', state('Succeeded', '2', '2'), since('1'))).toBe('well')
  })

  it('is that the object is gone, when it is deleted, and only then', () => {
    const gone = { isDeleted: true, jobBefore: '1' }
    expect(endOf('delete', state('Deleting', '2', '1'), gone)).toBe('well')
    expect(endOf('reconcile', state('Deleting', '2', '1'), gone)).toBe('badly')
    expect(endOf('delete', state('DeleteFailed', '2', '2'), since('1'))).toBe('badly')
  })
})

describe('the names of rows', () => {
  it('say how many installations and items, and their shape', () => {
    expect(chooseRows(['3x7-chain'], ['manifest'])).toEqual([
      { name: '3x7-chain', installations: 3, items: 7, shape: 'chain', deployer: 'manifest', goal: undefined },
    ])
  })

  it('need no shape where the table has one', () => {
    const named = chooseRows(['1x10', '1x10-wide', '20x5', '20x5-wide'], ['mock'])
    expect(named.map(({ name, shape }) => [name, shape])).toEqual([
      ['1x10-chain', 'chain'],
      ['1x10-wide', 'wide'],
      ['20x5', 'wide'],
      ['20x5', 'wide'],
    ])
  })

  it.each(['5', '0x1', '1x0', '1x10-deep', 'x'])('are refused: %s', (name) => {
    expect(() => chooseRows([name], ['mock'])).toThrow(`found ${name}`)
  })
})

describe('statistics', () => {
  it('find the middle, the rank and the mean of ratios', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([1, 9, 5, 7])).toBe(6)
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2)
    expect(quantile([4, 1, 3, 2], 0.99)).toBe(4)
    expect(geometricMean([0.5, 2])).toBeCloseTo(1)
    expect(() => median([])).toThrow('no values')
  })
})

function measured(...wallsMs: readonly number[]): RowResult {
  const run = (wallMs: number): Measurement => ({
    wallMs,
    submitMs: 100,
    p50Ms: 1500,
    p99Ms: 1900,
    requests: { writes: 300, events: 0, reads: 200, conflicts: 0, byResource: {} },
    usages: { worker: { cpuSeconds: 6, peakMemoryMiB: 100 } },
    cpuSeconds: 6,
    benchCpuSeconds: 1,
    otherCpuSeconds: 0,
    load: 1,
  })
  return { row: row!, runs: new Map([['create', wallsMs.map(run)]]) }
}

function baseline(create: { wallMs: number; writes: number; cpuSeconds: number }, perSecond: number): Baseline {
  return {
    recordedAt: '2026-01-01T00:00:00Z',
    machine: { cores: 2, processor: 'a processor', memoryMiB: 1000, node: 'v24' },
    yardsticks: { before: speed(perSecond), after: speed(perSecond) },
    rows: { '20x5 mock': { create } },
  }
}

function speed(perSecond: number): Yardsticks {
  const one = { perSecond, coreMs: 1 }
  return { writes: one, noOp: one, oneLocalActivity: one, idleCores: 0 }
}

function cellsOf(section: string | undefined, row: string): readonly string[] {
  const line = section?.split('\n').find((one) => one.startsWith(`| ${row}`)) ?? ''
  return line
    .split('|')
    .map((cell) => cell.trim())
    .slice(2, -1)
}
