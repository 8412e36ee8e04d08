// What woke a pass, in words: what began the job, signals with the journal's events behind them, what the run itself had under way. Pure.

import type { ReplayEntry } from '../../../workflows/kit/index.ts'
import type { JobRows, RowOfEvent } from './job-rows.ts'

interface Around {
  readonly rows: JobRows | undefined
  /** The pass before. */
  readonly before: readonly ReplayEntry[] | undefined
}

/** @param own the entries of the pass, with what came before it. */
export function tellWakes(own: readonly ReplayEntry[], around: Around): readonly string[] {
  const begin = own.findIndex((entry) => entry.told === 'pass')
  const told = own.slice(0, begin).flatMap((entry): readonly string[] => {
    switch (entry.told) {
      case 'began':
        return [beginText(entry.input, around.rows)]
      case 'signal':
        return [signalText(entry.input, around.rows)]
      case 'answer':
        return ['what went on beside the passes has ended']
      default:
        return []
    }
  })
  const all = [...new Set([...(around.before === undefined ? [] : settleTexts(around.before, around.rows)), ...told])]
  return all.length > 0 ? all : ['the pass before, which wants another one']
}

function beginText(input: unknown, rows: JobRows | undefined): string {
  const { cause, asked } = (input ?? {}) as {
    readonly cause?: unknown
    readonly asked?: { readonly version?: unknown }
  }
  const event = rows?.events.find(({ version }) => String(version) === asked?.version)
  const because = typeof cause === 'string' && cause !== '' ? `: ${cause}` : ''
  return `the job begins${because}${event === undefined ? '' : `; ${eventText(event)}`}`
}

function signalText(input: unknown, rows: JobRows | undefined): string {
  const { seq } = (input ?? {}) as { readonly seq?: unknown }
  return typeof seq !== 'number' || seq <= 0 ? 'its own due time' : numberedText(seq, rows)
}

function numberedText(seq: number, rows: JobRows | undefined): string {
  const event = rows?.events.find((one) => one.seq === seq)
  return `event ${seq} of the journal${event === undefined ? '' : `: ${eventText(event)}`}`
}

function eventText({ object, type, version, phase, writer, at }: RowOfEvent): string {
  const by = writer === undefined ? "somebody beside Pawl's runs" : `run ${writer}`
  return `${object} ${type}, version ${version}${phase === undefined ? '' : `, phase ${phase}`}, by ${by}, seen ${at.toISOString()}`
}

/** What the settle of the pass before has heard. */
function settleTexts(before: readonly ReplayEntry[], rows: JobRows | undefined): readonly string[] {
  const answer = before.findLast((entry) => entry.told === 'answer')
  const { woken, wokenBy, result } = (answer?.result ?? {}) as {
    readonly woken?: unknown
    readonly wokenBy?: readonly number[]
    readonly result?: unknown
  }
  if (result === 'overtaken') return ['the object was edited while the pass before went on']
  if (result === 'refused') return ['the server refused what the pass before came to']
  if (woken !== true) return []
  if (wokenBy === undefined) return ['something came while the pass before went on']
  return wokenBy.map((seq) => `${numberedText(seq, rows)}, while the pass before went on`)
}
