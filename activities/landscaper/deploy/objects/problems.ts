// Combines the failures of several objects in one step into one error that names each. Source: spec/landscaper.md 4.2 step 3 (errors are aggregated),
// appendix B 36.

import { DeployError } from '../run/deployer.ts'
import { shortened, toDeployError } from '../run/deploy-errors.ts'

export interface Problem {
  /** `ConfigMap default/web`. */
  readonly object: string
  readonly error: DeployError
  /** The original error: the API server's answer. */
  readonly cause?: unknown
}

const MAX_SHOWN = 10
const MAX_JOINED_LENGTH = 1500
const SEVERAL = { reason: 'SeveralFailures' }

/** Runs the work on one object; `toError` converts a KubeError. @throws bugs, and the reason of an aborted signal. */
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

/** One error for all problems, with all their codes, so it is final if one of them is. It has their reason if all have the same. */
export function joinedError(operation: string, problems: readonly Problem[]): DeployError {
  const shown = problems
    .slice(0, MAX_SHOWN)
    .map(({ object, error }) => `${shortened(object)}: ${shortened(error.message)}`)
  const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more objects`] : []
  const reasons = new Set(problems.map(({ error }) => error.reason))
  const [first = SEVERAL.reason] = reasons
  const codes = new Set(problems.flatMap(({ error }) => error.codes))
  return new DeployError(operation, reasons.size === 1 ? first : SEVERAL.reason, joined(shown, more), [...codes])
}

/** Formats a list for a message: the first few, and the number of the others. */
export function listed(texts: readonly string[], most = 5): string {
  const more = texts.length > most ? [`and ${texts.length - most} more`] : []
  return joined(
    texts.slice(0, most).map((text) => shortened(text)),
    more,
  )
}

function joined(texts: readonly string[], more: readonly string[]): string {
  return [shortened(texts.join('; '), MAX_JOINED_LENGTH), ...more].join('; ')
}
