// The report of the load scenario: medians, ratios to Gardener Landscaper, and CPU and memory of each process.

import { readFile } from 'node:fs/promises'
import { count, figure, markdownTable, seconds, times } from '../report.ts'
import { median } from '../statistics.ts'
import type { Measurement } from './measure.ts'
import { keyOfRow, type Row, type RowResult } from './rows.ts'
import { OPERATIONS, type Operation } from './subject.ts'

/** Medians. Undefined: not measured. */
interface Figures {
  readonly wallMs?: number
  readonly writes?: number
  readonly cpuSeconds?: number
}

/** The figures of another engine under the same load. */
export interface Reference {
  readonly engine: string
  readonly rows: Readonly<Record<string, Partial<Readonly<Record<Operation, Figures>>>>>
}

export async function readReference(): Promise<Reference> {
  return JSON.parse(await readFile(new URL('landscaper.json', import.meta.url), 'utf8')) as Reference
}

interface Line {
  readonly row: Row
  readonly operation: Operation
  readonly title: string
  readonly runs: readonly Measurement[]
}

export function loadSections(results: readonly RowResult[], reference: Reference): readonly string[] {
  const lines = results.flatMap(({ row, runs }) =>
    OPERATIONS.flatMap((operation): Line[] => {
      const measured = runs.get(operation)
      const title = `${keyOfRow(row)}, ${operation}`
      return measured === undefined ? [] : [{ row, operation, title, runs: measured }]
    }),
  )
  return [
    `## Figures\n\nMedians; in brackets the fastest and the slowest run. Writes are without Kubernetes Events. Other CPU is that of processes outside of the set and the bench.\n\n${figuresTable(lines)}`,
    `## Ratios\n\nReference: ${reference.engine}. 5x is five times as fast, or a fifth of the writes or of the CPU.\n\n${ratiosTable(lines, reference)}`,
    `## CPU seconds by process\n\nMedians; from the first request until nothing has changed for two seconds.\n\n${cpuTable(lines)}`,
    `## Peak memory by process, MiB\n\nHighest of all runs.\n\n${memoryTable(lines)}`,
  ]
}

function figuresTable(lines: readonly Line[]): string {
  const columns: readonly (readonly [title: string, cell: (runs: readonly Measurement[]) => string])[] = [
    ['time, s', (runs) => rangeOf(runs.map(({ wallMs }) => wallMs))],
    ['each, ms', (runs) => figure(medianOf(runs, ({ wallMs, objects }) => wallMs / objects))],
    ['p50, s', (runs) => seconds(medianOf(runs, ({ p50Ms }) => p50Ms))],
    ['p99, s', (runs) => seconds(medianOf(runs, ({ p99Ms }) => p99Ms))],
    ['writes', (runs) => count(medianOf(runs, ({ requests }) => requests.writes))],
    ['Events', (runs) => count(medianOf(runs, ({ requests }) => requests.events))],
    ['reads', (runs) => count(medianOf(runs, ({ requests }) => requests.reads))],
    ['conflicts', (runs) => count(medianOf(runs, ({ requests }) => requests.conflicts))],
    ['CPU, s', (runs) => figure(medianOf(runs, ({ cpuSeconds }) => cpuSeconds))],
    ['CPU each, ms', (runs) => figure(medianOf(runs, (one) => (one.cpuSeconds * 1000) / one.objects))],
    ['other CPU, s', (runs) => figure(medianOf(runs, ({ otherCpuSeconds }) => otherCpuSeconds))],
  ]
  const rows = lines.map(({ title, runs }) => [title, ...columns.map(([, cell]) => cell(runs))])
  return markdownTable(['row', ...columns.map(([title]) => title)], rows)
}

function medianOf(runs: readonly Measurement[], of: (one: Measurement) => number): number {
  return median(runs.map(of))
}

function rangeOf(walls: readonly number[]): string {
  return `${seconds(median(walls))} (${seconds(Math.min(...walls))}-${seconds(Math.max(...walls))})`
}

function ratiosTable(lines: readonly Line[], reference: Reference): string {
  const rows = lines.map(({ row, operation, title, runs }) => {
    const theirs = reference.rows[keyOfRow(row)]?.[operation] ?? {}
    const wallMs = medianOf(runs, (one) => one.wallMs)
    return [
      title,
      times(theirs.wallMs, wallMs),
      goalCell(row, theirs, wallMs),
      times(
        theirs.writes,
        medianOf(runs, ({ requests }) => requests.writes),
      ),
      times(
        theirs.cpuSeconds,
        medianOf(runs, ({ cpuSeconds }) => cpuSeconds),
      ),
    ]
  })
  return markdownTable(['row', 'time', 'goal', 'writes', 'CPU'], rows)
}

function goalCell({ goal }: Row, theirs: Figures, wallMs: number): string {
  if (goal === undefined || theirs.wallMs === undefined) return '-'
  return theirs.wallMs / wallMs >= goal ? `${goal}x` : `${goal}x, missed`
}

function cpuTable(lines: readonly Line[]): string {
  const names = processNames(lines)
  const rows = lines.map(({ title, runs }) => [
    title,
    figure(medianOf(runs, ({ cpuSeconds }) => cpuSeconds)),
    ...names.map((name) => figure(medianOf(runs, ({ usages }) => usages[name]?.cpuSeconds ?? NaN))),
    figure(medianOf(runs, ({ benchCpuSeconds }) => benchCpuSeconds)),
  ])
  return markdownTable(['row', 'all', ...names, '(bench)'], rows)
}

function memoryTable(lines: readonly Line[]): string {
  const names = processNames(lines)
  const peakOf = (runs: readonly Measurement[], name: string) =>
    Math.max(...runs.map(({ usages }) => usages[name]?.peakMemoryMiB ?? NaN))
  const rows = lines.map(({ title, runs }) => [title, ...names.map((name) => count(peakOf(runs, name)))])
  return markdownTable(['row', ...names], rows)
}

function processNames(lines: readonly Line[]): readonly string[] {
  return Object.keys(lines[0]?.runs[0]?.usages ?? {})
}
