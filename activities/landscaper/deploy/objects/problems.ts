// Combines the failures of several objects in one step into one error that names at most MAX_SHOWN of them.
// Source: spec/landscaper.md 4.2 step 3 (errors are aggregated), appendix B 36.

import { DeployError } from '../run/deployer.ts'
import { shortenText, toDeployError } from '../run/deploy-errors.ts'

export interface Problem {
  /** Kind and name for messages: `ConfigMap default/web`. */
  readonly object: string
  readonly error: DeployError
  /** The error before its conversion, for example a KubeError. */
  readonly cause?: unknown
}

const MAX_SHOWN = 10
const MAX_JOINED_LENGTH = 1500
/** The reason for problems with different reasons. An object, because test/docs/errors.test.ts finds reasons as `reason: 'NAME'`. */
const SEVERAL = { reason: 'SeveralFailures' }

/** Runs the work on one object. `toError` converts a KubeError, and rethrows bugs and the reason of an aborted signal. */
export async function attempt<Result>(
  operation: string,
  object: string,
  work: () => Promise<Result>,
  toError: typeof toDeployError = toDeployError,
): Promise<{ readonly value: Result } | Problem> {
  try {
    return { value: await work() }
  } catch (error) {
    return { object, error: toError(operation, error), cause: error }
  }
}

/**
 * One error for all problems. It has the codes of all problems, so it is final if one problem is final. Its reason is the reason of the problems if all
 * have the same, otherwise SeveralFailures.
 */
export function joinedError(operation: string, problems: readonly Problem[]): DeployError {
  const shown = problems
    .slice(0, MAX_SHOWN)
    .map(({ object, error }) => `${shortenText(object)}: ${shortenText(error.message)}`)
  const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more objects`] : []
  const [reason = SEVERAL.reason, ...otherReasons] = new Set(problems.map((problem) => problem.error.reason))
  const codes = new Set(problems.flatMap(({ error }) => error.codes))
  return new DeployError(operation, otherReasons.length === 0 ? reason : SEVERAL.reason, joinTexts(shown, more), [
    ...codes,
  ])
}

/** Formats a list for a message: the first few, and the number of the others. */
export function formatList(texts: readonly string[], most = 5): string {
  const more = texts.length > most ? [`and ${texts.length - most} more`] : []
  return joinTexts(
    texts.slice(0, most).map((text) => shortenText(text)),
    more,
  )
}

function joinTexts(texts: readonly string[], more: readonly string[]): string {
  return [shortenText(texts.join(' | '), MAX_JOINED_LENGTH), ...more].join(' | ')
}
