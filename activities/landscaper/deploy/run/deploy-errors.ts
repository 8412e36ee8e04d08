// Converts errors of a target's API server into errors of a deploy item. Source: spec/landscaper.md 1.16, 4.2.
//
//   D1. Messages contain names of objects and fields, but no contents: no server address, no body that is not a Status, and no value that a decoder
//       quotes.

import type { ErrorReport } from '../../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { blankValues } from '../../../kube/redact-message.ts'
import { isFinal, KubeError } from '../../../kube/errors.ts'
import { isUntrusted } from '../target/untrusted.ts'
import { DeployError } from './deployer.ts'
import { ApplicationFailure } from '@temporalio/common'

const MAX_MESSAGE_LENGTH = 1000
// Limit of the text that regular expressions search, whatever a server sends.
const MAX_SEARCHED_LENGTH = 2000
// etcd and gRPC reject a too large object with an error that looks like a server failure.
const TOO_LARGE = /request is too large|trying to send message larger than max/

/**
 * Classifies an error. 401 ends the job with ERR_UNAUTHORIZED. Requests that cannot succeed unchanged, and servers with an untrusted certificate, end
 * it with ERR_CONFIGURATION_PROBLEM. Other errors, including 403 and denials of webhooks, are retried. A DeployError is returned unchanged.
 *
 * @throws any other error, because it is a bug.
 */
export function toDeployError(operation: string, error: unknown): DeployError {
  return toError(operation, error, isRejected)
}

/** Classifies an error of a removal: rejections are retried too. Source: spec/landscaper.md 4.4. */
export function toRemovalError(operation: string, error: unknown): DeployError {
  return toError(operation, error, () => false)
}

function toError(operation: string, error: unknown, isForGood: (error: KubeError) => boolean): DeployError {
  if (error instanceof DeployError) return error
  if (!(error instanceof KubeError)) throw error
  const { status } = error
  if (status === 0 && isUntrusted(causeCode(error))) {
    const [request = ''] = error.message.split(': no answer')
    const message = `${request}: the certificate of the target's server is not trusted (${causeCode(error) ?? ''}); correct certificate-authority-data, server or tls-server-name in the kubeconfig`
    return configurationProblem(operation, 'UntrustedServer', message)
  }
  const [reason, text] = [reasonOf(error), publicMessage(error)]
  if (isUnauthorized(error)) return new DeployError(operation, reason, text, ['ERR_UNAUTHORIZED'])
  return new DeployError(operation, reason, text, isForGood(error) ? ['ERR_CONFIGURATION_PROBLEM'] : [])
}

/** Shortens a text of a server for a status. */
export function shortenText(text: string, most = 300): string {
  return text.length <= most ? text : `${text.slice(0, most)}...`
}

/** An error that the user has to fix; it ends the job. */
export function configurationProblem(operation: string, reason: string, message: string): DeployError {
  return new DeployError(operation, reason, message, ['ERR_CONFIGURATION_PROBLEM'])
}

/** The error for an unexpected exception of a deployer: a bug, or an answer that no server should send. The log has the exception. */
export function internalProblem(
  operation: string,
  { metadata: { namespace, name } }: Pick<KubeObject, 'metadata'>,
  error: unknown,
  log: LandscaperDeps['log'],
): DeployError {
  log.warn({ namespace, name, err: error }, 'a deployer failed with an unexpected error')
  const kind = error instanceof Error ? error.name : typeof error
  const message = `unexpected error in the deployer (${kind}); see the log of the worker, and report it`
  return new DeployError(operation, 'InternalProblem', message)
}

/** The error in the form of the item's status. */
export function reportOf({
  operation,
  reason,
  message,
  codes,
}: DeployError): ErrorReport & { codes: readonly string[] } {
  return { operation, reason, message, codes }
}

const isUnauthorized = ({ status, isDenial }: KubeError) => status === 401 && !isDenial

// Denials are often temporary: until an object of the same apply exists, or a child is deleted.
function isRejected(error: KubeError): boolean {
  return !error.isDenial && (isFinal(error) || TOO_LARGE.test(searchedText(error)))
}

const searchedText = ({ message }: KubeError) => message.slice(0, MAX_SEARCHED_LENGTH)

function publicMessage(error: KubeError): string {
  return withoutContents(error, searchedText(error)).slice(0, MAX_MESSAGE_LENGTH)
}

function withoutContents(error: KubeError, message: string): string {
  const { status } = error
  if (status === 0) {
    if (error.cause === undefined) return message
    const [request = ''] = message.split(': no answer')
    return [`${request}: no answer from the target's server`, ...withCode(error)].join(': ')
  }
  // The server is not an API server, and possibly one that the user must not reach: the message quotes no part of its answer.
  if (reasonOf(error) === UNKNOWN) return `${message.split(': ')[0] ?? ''}: ${status} ${UNKNOWN}`
  const isBlank = error.isDenial ? status === 422 : NAMES_ONLY.has(status)
  return isBlank ? message : blankValues(message)
}

const UNKNOWN = 'Unknown'

// A server may answer with any text, and the reason is stored and compared.
function reasonOf({ reason }: KubeError): string {
  return typeof reason === 'string' && /^[A-Za-z]{1,64}$/.test(reason) ? reason : UNKNOWN
}

const withCode = (error: KubeError) => [causeCode(error)].flatMap((code) => code ?? [])

// Not found, conflict, too many requests; and rejections, from which the client has removed the values already.
const NAMES_ONLY: ReadonlySet<number> = new Set([404, 409, 422, 429])

function causeCode({ cause }: KubeError): string | undefined {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return undefined
  return typeof cause.code === 'string' ? cause.code : undefined
}

// The failure with which an activity requests a retry from Temporal, so that waiting occupies no slot.

// For users who see the pending activity in Temporal; the item's status has the complete message.
const MAX_RETRY_MESSAGE_LENGTH = 2000

/** Creates the failure to throw. @param delayMs until the retry. */
export function retryFailure(type: string, message: string, delayMs: number): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message: message.slice(0, MAX_RETRY_MESSAGE_LENGTH),
    nextRetryDelay: delayMs,
    nonRetryable: false,
  })
  // The stack would only show this line, and fill half of the page.
  failure.stack = ''
  return failure
}
