// What a trial of another build came to, for people. Pure.

import { writeJson } from '../../../workflows/kit/index.ts'
import { type Paint, shown } from '../ask/texts.ts'
import type { Trial, Verdict } from './against.ts'
import type { Change } from './changed-fields.ts'
import type { Difference } from './compare.ts'

const MOST_JOBS = 10
const MOST_DIFFERENCES = 6
const MOST_CHANGES = 5
const MOST_KINDS = 15

/** @param notes what is not compared, and which jobs there was no history of. */
export function verdictText(verdict: Verdict, notes: readonly string[], paint: Paint): string {
  const { trials, same, differ, part, unknown, kinds } = verdict
  const told = trials.filter(({ comparison }) => comparison.verdict !== 'same')
  return [
    `${trials.length} ${trials.length === 1 ? 'run' : 'runs'} replayed with both builds\n`,
    ...[
      [same, 'the same', 'green'] as const,
      [differ, 'other decisions or calls', 'red'] as const,
      [part, 'the other build cannot go on with', 'red'] as const,
      [unknown, 'this build cannot replay itself', 'yellow'] as const,
    ]
      .filter(([count]) => count > 0)
      .map(([count, what, colour]) => `${String(count).padStart(6)} ${paint(colour, what)}\n`),
    ...notes.map((note) => `${paint('yellow', 'note')} ${shown(note, 2000)}\n`),
    ...(kinds.length === 0 ? [] : ['\nin how many runs what differs\n']),
    ...kinds.slice(0, MOST_KINDS).map(({ what, jobs }) => `${String(jobs).padStart(6)} ${shown(what, 300)}\n`),
    ...rest(kinds.length, MOST_KINDS),
    ...told.slice(0, MOST_JOBS).map((trial) => trialText(trial, paint)),
    ...rest(told.length, MOST_JOBS),
  ].join('')
}

function rest(count: number, told: number, indent = ''): readonly string[] {
  return count > told ? [`${indent}and ${count - told} more; -o json has all\n`] : []
}

function trialText({ name, comparison }: Trial, paint: Paint): string {
  const { verdict, differences, error, workflowId } = comparison
  const words = { same: 'the same', differs: 'differs', parts: 'parts', unknown: 'not compared' }
  return [
    `\n${paint('bold', shown(name))}: ${paint(verdict === 'unknown' ? 'yellow' : 'red', words[verdict])}\n`,
    `  ${paint('dim', shown(workflowId))}\n`,
    ...differences.slice(0, MOST_DIFFERENCES).map((one) => differenceText(one)),
    ...rest(differences.length, MOST_DIFFERENCES, '  '),
    ...(error === undefined ? [] : [`  ${shown(errorText(verdict, error), 1000)}\n`]),
  ].join('')
}

function errorText(verdict: Trial['comparison']['verdict'], error: string): string {
  return verdict === 'unknown'
    ? `these workflows do not come to what the run did: ${error}`
    : `there the other build stops: ${error}`
}

const HOW: Readonly<Record<Difference['how'], string>> = {
  more: ': only the other build does it',
  less: ': only this build does it',
  other: '',
}

function differenceText({ pass, kind, name, object, how, changes, made = [] }: Difference): string {
  const of = object === undefined ? '' : ` of ${object}`
  const lines = changes.slice(0, MOST_CHANGES).map((change) => `    ${shown(changeText(change), 400)}\n`)
  const then = made.slice(0, MOST_CHANGES).map((write) => `    wrote then: ${shown(write, 300)}\n`)
  return [
    `  pass ${pass}  ${kind.padEnd(8)}  ${shown(`${name}${of}${HOW[how]}`, 300)}\n`,
    ...[...lines, ...rest(changes.length, MOST_CHANGES, '    ')],
    ...[...then, ...rest(made.length, MOST_CHANGES, '    ')],
  ].join('')
}

function changeText({ field, from, to }: Change): string {
  return `${field === '' ? '' : `${field}: `}${valueText(from)} -> ${valueText(to)}`
}

function valueText(value: unknown): string {
  return value === undefined ? '(none)' : shown(typeof value === 'string' ? value : writeJson(value), 160)
}
