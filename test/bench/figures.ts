// Figures that measurements are compared with: those of the reference, and the baseline, which is a recorded run of our own.
//
// Both are files beside this one: objects only, because Prettier leaves those as they are written.

import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import type { TemporalStore } from '../../worker/dev/servers.ts'
import { OPERATIONS, type Operation } from './load.ts'
import { describeMachine, type Machine } from './machine.ts'
import type { Measurement } from './measure.ts'
import { keyOfRow, type RowResult } from './rows.ts'
import { median } from './statistics.ts'
import type { YardsticksOfRun } from './yardsticks.ts'

/** Medians; absent: not measured. */
export interface Figures {
  readonly wallMs?: number
  readonly writes?: number
  readonly cpuSeconds?: number
}

/** By key of row and operation. */
export type FiguresOfRows = Readonly<Record<string, Partial<Readonly<Record<Operation, Figures>>>>>

export interface Reference {
  readonly engine: string
  readonly rows: FiguresOfRows
}

export interface Baseline {
  readonly recordedAt: string
  readonly machine: Machine
  readonly yardsticks: YardsticksOfRun
  readonly rows: FiguresOfRows
}

const REFERENCE = fileURLToPath(new URL('landscaper.json', import.meta.url))
const BASELINES: Readonly<Record<TemporalStore, string>> = {
  sqlite: fileURLToPath(new URL('baseline.json', import.meta.url)),
  postgres: fileURLToPath(new URL('baseline-postgres.json', import.meta.url)),
}

export async function readReference(): Promise<Reference> {
  return JSON.parse(await readFile(REFERENCE, 'utf8')) as Reference
}

/** Undefined when none was recorded. */
export async function readBaseline(store: TemporalStore): Promise<Baseline | undefined> {
  const text = await readFile(BASELINES[store], 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Baseline)
}

/** Replaces the baseline: its rows and yardsticks are always of one run. */
export async function keepBaseline(
  store: TemporalStore,
  results: readonly RowResult[],
  yardsticks: YardsticksOfRun,
): Promise<void> {
  const rows: FiguresOfRows = Object.fromEntries(
    results.map(({ row, runs }) => [
      keyOfRow(row),
      Object.fromEntries(
        OPERATIONS.flatMap((operation) => {
          const found = runs.get(operation)
          return found === undefined ? [] : [[operation, mediansOf(found)]]
        }),
      ),
    ]),
  )
  const baseline: Baseline = { recordedAt: new Date().toISOString(), machine: describeMachine(), yardsticks, rows }
  await writeFile(BASELINES[store], `${JSON.stringify(baseline, rounded, 2)}\n`)
}

export function mediansOf(runs: readonly Measurement[]): Required<Figures> {
  return {
    wallMs: median(runs.map(({ wallMs }) => wallMs)),
    writes: median(runs.map(({ requests }) => requests.writes)),
    cpuSeconds: median(runs.map(({ cpuSeconds }) => cpuSeconds)),
  }
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}
