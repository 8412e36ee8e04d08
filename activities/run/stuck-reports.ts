// What people are told of a run whose workflow task fails: a bug with its place, and why a run is started anew.

import type { ErrorReport, Thrown } from '../../workflows/kit/index.ts'

/** Files of the engine, of Node and of packages: what runs the code that threw. Places outside of the sandbox are URLs. */
const NOT_THE_AUTHORS = /node_modules|^node:|^file:|\/workflows\/kit\//
const FRAME = /^\s*at (?:.*\(|async )?(.+?:\d+:\d+)\)?$/

/**
 * The line of the author's source at which it was thrown; undefined when no line of the stack is his.
 *
 * @param folder paths below it are told without it.
 */
export function thrownAt(stack: string, folder: string): string | undefined {
  const places = stack.split('\n').flatMap((line) => FRAME.exec(line)?.[1] ?? [])
  const place = places.find((one) => !NOT_THE_AUTHORS.test(one)) ?? places[0]
  return place?.startsWith(`${folder}/`) === true ? place.slice(folder.length + 1) : place
}

/** What the language says itself: it may name a field, and quotes no values. */
const SAYS_NO_VALUES = new Set(['TypeError', 'ReferenceError', 'RangeError'])
// As of the faults of a pass.
const LONGEST_MESSAGE = 2000

/** A bug as the object and the journal tell it. Bodies stay out of what is told of jobs. */
export function bugReport({ name, message, stack, jobID }: Thrown, folder: string): ErrorReport {
  const said = jobID === '' || SAYS_NO_VALUES.has(name) ? `${name}: ${message}` : name
  const place = thrownAt(stack, folder)
  const told = `${said.slice(0, LONGEST_MESSAGE)}${place === undefined ? '' : ` (${place})`}`
  return { operation: 'Reconcile', reason: 'Bug', message: told }
}

/**
 * A bug as it is listed for people who look after the engine: which object, of what kind the error is and where it was thrown. What objects say stays
 * out, also where their own status may tell it.
 */
export function problemReport({ name, message, stack, subject }: Thrown, controller: string, folder: string): string {
  const said = SAYS_NO_VALUES.has(name) ? `${name}: ${message}` : name
  const place = thrownAt(stack, folder)
  const about = `${controller} ${subject.namespace === '' ? '' : `${subject.namespace}/`}${subject.name}`
  return `${about}: ${said.slice(0, LONGEST_MESSAGE)}${place === undefined ? '' : ` (${place})`}`
}

/** Why a run is started anew: it does not fit the code, its bug was met by other code, or its object has changed since it met a bug. */
export type RestartCause = 'misfit' | 'bug of other code' | 'bug before a change'

const WHY: Readonly<Record<RestartCause, (found: string) => string>> = {
  misfit: (found) => `the code of the controller has changed, and the run was made by other code (${found})`,
  'bug of other code': (found) => `the run met a bug (${found}) in a worker with other code than this one`,
  'bug before a change': (found) => `the run met a bug (${found}), and its object has changed since then`,
}

/** @param found what does not fit, or the bug. */
export function restartReport(cause: RestartCause, found: string): ErrorReport {
  const message = `${WHY[cause](found)}; it is ended, and a new one goes on from what the object shows`
  return { operation: 'Reconcile', reason: 'RunStartedAnew', message }
}

const NONDETERMINISM = /\[TMPRL1100\] Nondeterminism error: ((?:[^"\\]|\\.)*)/

/** The sentence in what Temporal says of a replay that came to other commands than the run; as a whole where there is none. */
export function misfitIn(message: string): string {
  const sentence = NONDETERMINISM.exec(message)?.[1] ?? message
  return sentence.replaceAll('\\"', '"').slice(0, LONGEST_MESSAGE)
}
