// Texts for users about a run whose workflow task fails: the bug with its place in the source, or why the run is restarted.

import { BUG_REMEDY, bugPrefix, type ErrorReport, type ReportedBug, type Subject } from '../../workflows/kit/index.ts'

/** Paths of the engine, of Node and of packages, which are not the author's code. Paths outside of the workflow sandbox are URLs. */
const ENGINE_PATHS = /node_modules|^node:|^file:|\/workflows\/kit\//
const FRAME = /^\s*at (?:.*\(|async )?(.+?:\d+:\d+)\)?$/

/**
 * Returns the place in the author's source where the error was thrown; undefined if the stack has no such place.
 *
 * @param folder is removed from the start of paths.
 */
export function thrownAt(stack: string, folder: string): string | undefined {
  const places = stack.split('\n').flatMap((line) => FRAME.exec(line)?.[1] ?? [])
  const place = places.find((one) => !ENGINE_PATHS.test(one)) ?? places[0]
  return place?.startsWith(`${folder}/`) === true ? place.slice(folder.length + 1) : place
}

/** A bug that the code cannot report by itself, because the SDK has stopped it. */
export function endlessBug(subject: Subject, jobID: string): ReportedBug {
  const message = 'the code ran for more than 5 s without waiting; shorten its loops, or read fewer objects'
  return { subject, jobID, isReplaying: false, name: 'RangeError', message, stack: '' }
}

/** Errors of the language. Their messages may name a field but quote no values. */
const SAFE_ERRORS = new Set(['TypeError', 'ReferenceError', 'RangeError'])
// The same limit as for the faults of a pass.
const MAX_MESSAGE = 2000

/** The report of a bug for the object and the journal. In job mode it contains no message that could quote an object. */
export function bugReport(
  { name, message, stack, step, jobID, subject }: ReportedBug,
  controller: string,
  folder: string,
): ErrorReport {
  const said = jobID === '' || SAFE_ERRORS.has(name) ? `${name}: ${message}` : name
  const place = thrownAt(stack, folder)
  const where = `${bugPrefix(controller)}${step === undefined ? '' : `step "${step}": `}`
  const text = `${where}${said.slice(0, MAX_MESSAGE)}${place === undefined ? '' : ` (${place})`}`
  return { operation: 'Reconcile', reason: 'Bug', message: `${text}; ${remedy(subject)}` }
}

function remedy({ kind, namespace, name }: Subject): string {
  const object = `${kind.toLowerCase()}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`
  return `${BUG_REMEDY} ("pawl why ${object}" shows whether passes continue)`
}

/**
 * The report of a bug for operators of the engine: the object, the type of the error and its place in the source. It contains no text of an object, also
 * in level mode.
 */
export function problemReport(
  { name, message, stack, subject }: ReportedBug,
  controller: string,
  folder: string,
): string {
  const said = SAFE_ERRORS.has(name) ? `${name}: ${message}` : name
  const place = thrownAt(stack, folder)
  const about = `${controller} ${subject.namespace === '' ? '' : `${subject.namespace}/`}${subject.name}`
  return `${about}: ${said.slice(0, MAX_MESSAGE)}${place === undefined ? '' : ` (${place})`}`
}

/** Why a run is restarted: the code cannot replay it, its bug occurred in other code, or its object has changed since the bug. */
export type RestartCause = 'misfit' | 'bug of other code' | 'bug before a change'

const WHY: Readonly<Record<RestartCause, (found: string) => string>> = {
  misfit: (found) => `the code of the controller has changed since the run started (${found})`,
  'bug of other code': (found) => `a worker with other code than this worker has run into a bug (${found})`,
  'bug before a change': (found) => `the run has failed with a bug (${found}), and its object has changed since then`,
}

/** @param found the non-determinism error, or the bug. */
export function restartReport(cause: RestartCause, found: string): ErrorReport {
  const message = `${WHY[cause](found)}; Pawl ends this run, and a new run continues from the state of the object`
  return { operation: 'Reconcile', reason: 'RunStartedAnew', message }
}

const NONDETERMINISM = /\[TMPRL1100\] Nondeterminism error: ((?:[^"\\]|\\.)*)/

/** Returns the sentence about the non-determinism from Temporal's message, or the whole message if it has no such sentence. */
export function nondeterminismIn(message: string): string {
  const sentence = NONDETERMINISM.exec(message)?.[1] ?? message
  return sentence.replaceAll('\\"', '"').slice(0, MAX_MESSAGE)
}
