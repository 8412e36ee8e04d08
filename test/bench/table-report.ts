// The table scenario as Markdown: figures, ratios, and CPU and memory by process.

import { type Baseline, type Figures, mediansOf, type Reference } from './figures.ts'
import { OPERATIONS, type Operation } from './load.ts'
import { count, figure, markdownTable, seconds, times } from './markdown.ts'
import type { Measurement } from './measure.ts'
import type { Usage } from './processes.ts'
import { keyOfRow, type Row, type RowResult } from './rows.ts'
import { median } from './statistics.ts'
import { slowness, type YardsticksOfRun } from './yardsticks.ts'

/** Times and CPU that are so much of the baseline's are told apart from it; measurements of one hour differ by less. */
const NOISE = 0.8

export interface Comparison {
  readonly reference: Reference
  /** Undefined: none was recorded. */
  readonly baseline: Baseline | undefined
  /** Undefined: not measured. */
  readonly yardsticks: YardsticksOfRun | undefined
}

interface Line {
  readonly row: Row
  readonly operation: Operation
  readonly title: string
  readonly runs: readonly Measurement[]
}

export function tableSections(results: readonly RowResult[], comparison: Comparison): readonly string[] {
  const lines = results.flatMap(({ row, runs }) =>
    OPERATIONS.flatMap((operation): Line[] => {
      const found = runs.get(operation)
      return found === undefined ? [] : [{ row, operation, title: `${keyOfRow(row)}, ${operation}`, runs: found }]
    }),
  )
  return [
    `## Figures\n\nMedians; in brackets the fastest and the slowest run. Writes are without Kubernetes Events. Other CPU is what neither the set nor the bench used.\n\n${figuresTable(lines)}`,
    `## Ratios\n\n${ratiosIntroduction(comparison)}\n\n${ratiosTable(lines, comparison)}`,
    `## CPU seconds by process\n\nMedians; from the first request until nothing has changed for two seconds.\n\n${usageTable(lines, ({ cpuSeconds }) => cpuSeconds)}`,
    `## Peak memory by process, MiB\n\nHighest of all runs.\n\n${memoryTable(lines)}`,
  ]
}

function figuresTable(lines: readonly Line[]): string {
  const header = [
    'row',
    'time, s',
    'p50, s',
    'p99, s',
    'writes',
    'Events',
    'reads',
    'conflicts',
    'CPU, s',
    'other CPU, s',
  ]
  const cells = lines.map(({ title, runs }) => {
    const middle = (of: (one: Measurement) => number) => median(runs.map(of))
    const walls = runs.map(({ wallMs }) => wallMs)
    return [
      title,
      `${seconds(median(walls))} (${seconds(Math.min(...walls))}-${seconds(Math.max(...walls))})`,
      seconds(middle(({ p50Ms }) => p50Ms)),
      seconds(middle(({ p99Ms }) => p99Ms)),
      count(middle(({ requests }) => requests.writes)),
      count(middle(({ requests }) => requests.events)),
      count(middle(({ requests }) => requests.reads)),
      count(middle(({ requests }) => requests.conflicts)),
      figure(middle(({ cpuSeconds }) => cpuSeconds)),
      figure(middle(({ otherCpuSeconds }) => otherCpuSeconds)),
    ]
  })
  return markdownTable(header, cells)
}

function ratiosIntroduction({ reference, baseline, yardsticks }: Comparison): string {
  const against = `Reference: ${reference.engine}. 5x is five times as fast, or a fifth of the writes or of the CPU.`
  if (baseline === undefined) return `${against} No baseline is recorded (--record).`
  const { cores, processor } = baseline.machine
  const recorded = `Baseline: recorded ${baseline.recordedAt} on ${cores} cores of ${processor}; above 1x is better than then.`
  if (yardsticks === undefined) return `${against}\n\n${recorded} Without yardsticks, times are compared as they are.`
  const factor = slowness(yardsticks, baseline.yardsticks)
  return `${against}\n\n${recorded} By the yardsticks the machine is now ${figure(factor)} times as slow as then; times and CPU are scaled by that. In bold: worse than noise explains.`
}

function ratiosTable(lines: readonly Line[], { reference, baseline, yardsticks }: Comparison): string {
  const header = ['row', 'time', 'goal', 'writes', 'CPU', 'time, baseline', 'writes, baseline', 'CPU, baseline']
  const scale = baseline === undefined || yardsticks === undefined ? 1 : slowness(yardsticks, baseline.yardsticks)
  const scaled = (value: number | undefined) => (value === undefined ? undefined : value * scale)
  const cells = lines.map(({ row, operation, title, runs }) => {
    const ours = mediansOf(runs)
    const theirs = reference.rows[keyOfRow(row)]?.[operation] ?? {}
    const then = baseline?.rows[keyOfRow(row)]?.[operation] ?? {}
    return [
      title,
      times(theirs.wallMs, ours.wallMs),
      goalCell(row, theirs, ours),
      times(theirs.writes, ours.writes),
      times(theirs.cpuSeconds, ours.cpuSeconds),
      regression(scaled(then.wallMs), ours.wallMs, NOISE),
      regression(then.writes, ours.writes, 1),
      regression(scaled(then.cpuSeconds), ours.cpuSeconds, NOISE),
    ]
  })
  return markdownTable(header, cells)
}

function goalCell({ goal }: Row, { wallMs }: Figures, ours: Required<Figures>): string {
  if (goal === undefined || wallMs === undefined) return '-'
  return wallMs / ours.wallMs >= goal ? `${goal}x` : `${goal}x, missed`
}

/** In bold when it is worse than noise explains. */
function regression(then: number | undefined, now: number, noise: number): string {
  const cell = times(then, now)
  return then !== undefined && then / now < noise ? `**${cell}**` : cell
}

function usageTable(lines: readonly Line[], of: (usage: Usage) => number): string {
  const names = processNames(lines)
  const cells = lines.map(({ title, runs }) => [
    title,
    figure(median(runs.map(({ cpuSeconds }) => cpuSeconds))),
    ...names.map((name) => figure(median(runs.map(({ usages }) => usageOf(usages[name], of))))),
    figure(median(runs.map(({ benchCpuSeconds }) => benchCpuSeconds))),
  ])
  return markdownTable(['row', 'all', ...names, '(bench)'], cells)
}

function memoryTable(lines: readonly Line[]): string {
  const names = processNames(lines)
  const peak = (runs: readonly Measurement[], name: string) =>
    Math.max(...runs.map(({ usages }) => usageOf(usages[name], ({ peakMemoryMiB }) => peakMemoryMiB)))
  const cells = lines.map(({ title, runs }) => [title, ...names.map((name) => count(peak(runs, name)))])
  return markdownTable(['row', ...names], cells)
}

function usageOf(usage: Usage | undefined, of: (usage: Usage) => number): number {
  return usage === undefined ? NaN : of(usage)
}

function processNames(lines: readonly Line[]): readonly string[] {
  return Object.keys(lines[0]?.runs[0]?.usages ?? {})
}
