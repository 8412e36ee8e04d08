// How answers of a target's API server become errors of a deploy item. Source: spec/landscaper.md 1.16, 4.2.
//
//   D1. Names of objects and fields stay, contents do not: neither the server's address nor a body that is no Status is quoted,
//       nor what a decoder found in an object.

import type { ErrorReport } from '../../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { blankValues } from '../../../kube/blank-values.ts'
import { isFinal, KubeError } from '../../../kube/errors.ts'
import { isUntrusted } from '../target/untrusted.ts'
import { DeployError } from './deployer.ts'

const LONGEST_MESSAGE = 1000
// Whatever a server sends, what is looked through is short.
const LONGEST_READ = 2000
// etcd and gRPC refuse what is too large with an answer that looks like a failure of the server.
const TOO_LARGE = /request is too large|trying to send message larger than max/

/**
 * 401 ends the job with ERR_UNAUTHORIZED; requests that cannot succeed unchanged, and servers whose certificate is not trusted, end it with
 * ERR_CONFIGURATION_PROBLEM; all else, 403 and what webhooks deny too, is tried again. A DeployError passes.
 *
 * @throws what is neither: a bug.
 */
export function toDeployError(operation: string, error: unknown): DeployError {
  return toError(operation, error, isRefused)
}

/** The same of an error while objects are taken away, where what the server refuses is tried again, too. Source: spec/landscaper.md 4.4. */
export function toRemovalError(operation: string, error: unknown): DeployError {
  return toError(operation, error, () => false)
}

function toError(operation: string, error: unknown, isForGood: (error: KubeError) => boolean): DeployError {
  if (error instanceof DeployError) return error
  if (!(error instanceof KubeError)) throw error
  const { status } = error
  if (status === 0 && isUntrusted(causeCode(error))) {
    const [request = ''] = error.message.split(': no answer')
    const message = `${request}: the certificate of the target's server is not trusted (${causeCode(error) ?? ''}); expected one that its CA data vouch for`
    return configurationProblem(operation, 'UntrustedServer', message)
  }
  const codes = isUnauthorized(error) ? ['ERR_UNAUTHORIZED'] : isForGood(error) ? ['ERR_CONFIGURATION_PROBLEM'] : []
  return new DeployError(operation, reasonOf(error), publicMessage(error), codes)
}

/** A text for people, cut: servers may say anything, and a status is kept for long. */
export function shortened(text: string, most = 300): string {
  return text.length <= most ? text : `${text.slice(0, most)}...`
}

/** What a user has to mend; it ends the job. */
export function configurationProblem(operation: string, reason: string, message: string): DeployError {
  return new DeployError(operation, reason, message, ['ERR_CONFIGURATION_PROBLEM'])
}

/** For what a deployer should not have thrown: a mistake of ours, or an answer that no server should give. The log has the whole of it. */
export function internalProblem(
  operation: string,
  { metadata: { namespace, name } }: Pick<KubeObject, 'metadata'>,
  error: unknown,
  log: LandscaperDeps['log'],
): DeployError {
  log.warn({ namespace, name, err: error }, 'a deployer failed in a way that it does not know')
  const kind = error instanceof Error ? error.name : typeof error
  const message = `the deployer met a problem that it does not know (${kind}); see the log of the worker`
  return new DeployError(operation, 'InternalProblem', message)
}

/** As the item's status has it. */
export function reportOf({
  operation,
  reason,
  message,
  codes,
}: DeployError): ErrorReport & { codes: readonly string[] } {
  return { operation, reason, message, codes }
}

const isUnauthorized = ({ status, isDenial }: KubeError) => status === 401 && !isDenial

// Rules of a cluster often let pass later what they deny now: once an object that is sent beside this one is there, or a child is gone.
function isRefused(error: KubeError): boolean {
  return !error.isDenial && (isFinal(error) || TOO_LARGE.test(readable(error)))
}

const readable = ({ message }: KubeError) => message.slice(0, LONGEST_READ)

function publicMessage(error: KubeError): string {
  return withoutContents(error, readable(error)).slice(0, LONGEST_MESSAGE)
}

function withoutContents(error: KubeError, message: string): string {
  const { status } = error
  if (status === 0) {
    if (error.cause === undefined) return message
    const [request = ''] = message.split(': no answer')
    return [`${request}: no answer from the target's server`, ...withCode(error)].join(': ')
  }
  // Not an API server, maybe not one that the user may talk to himself: nothing of its answer is passed on.
  if (reasonOf(error) === UNKNOWN) return `${message.split(': ')[0] ?? ''}: ${status} ${UNKNOWN}`
  const isBlank = error.isDenial ? status === 422 : NAMES_ONLY.has(status)
  return isBlank ? message : blankValues(message)
}

const UNKNOWN = 'Unknown'

// A server may answer with anything, and a reason is kept and matched.
function reasonOf({ reason }: KubeError): string {
  return typeof reason === 'string' && /^[A-Za-z]{1,64}$/.test(reason) ? reason : UNKNOWN
}

const withCode = (error: KubeError) => [causeCode(error)].flatMap((code) => code ?? [])

// Not found, conflicts, too many requests; and refusals, whose values the client has taken out already.
const NAMES_ONLY: ReadonlySet<number> = new Set([404, 409, 422, 429])

function causeCode({ cause }: KubeError): string | undefined {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return undefined
  return typeof cause.code === 'string' ? cause.code : undefined
}
