// Errors of the Kubernetes API as data. Separate from their conversion for activities (errors.ts), because the command
// line need not load Temporal's failures.

import { blankValues, refusedField } from './redact-message.ts'

interface ErrorResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
}

/** The server's name of an object: the kind by its plural. */
interface MissingObject {
  readonly kind: string
  readonly name: string
}

/** A response with status 400 or above, or no response (status 0). */
export class KubeError extends Error {
  readonly status: number
  readonly reason: string
  readonly retryAfterMs: number | undefined
  /** For a 404: the missing object. Undefined if the server names none, for example for an unknown path. */
  readonly missing: MissingObject | undefined
  /** An admission webhook or policy denied the request, with any status; its rules may allow the request later. */
  readonly isDenial: boolean

  constructor(
    message: string,
    fields: {
      status: number
      reason: string
      retryAfterMs?: number | undefined
      missing?: MissingObject | undefined
      isDenial?: boolean
      cause?: unknown
    },
  ) {
    super(message, { cause: fields.cause })
    this.name = 'KubeError'
    this.status = fields.status
    this.reason = fields.reason
    this.retryAfterMs = fields.retryAfterMs
    this.missing = fields.missing
    this.isDenial = fields.isDenial ?? false
  }

  /** Returns the error without these texts, which a server or webhook may have quoted. */
  redacting(texts: readonly string[]): KubeError {
    const contained = texts.filter((text) => text.trim() !== '' && this.message.includes(text))
    if (contained.length === 0) return this
    const message = contained.reduce((left, text) => left.replaceAll(text, '***'), this.message)
    return this.withMessage(message)
  }

  /** Returns the error with another message. */
  withMessage(message: string): KubeError {
    const { status, reason, retryAfterMs, isDenial } = this
    return new KubeError(message, { status, reason, retryAfterMs, isDenial })
  }

  /**
   * Creates the error of a response.
   *
   * @param sent the request's body: its texts are removed from the server's message, and its name is used if the
   * response has none.
   */
  static fromResponse(request: string, response: ErrorResponse, text: string, sent?: unknown): KubeError {
    const answer = parseStatus(response.statusCode, text, sent)
    const { isDenial } = answer
    if (!isDenial && TOO_LARGE.test(answer.message)) {
      const message = `${request}: the object exceeds the size limit of the API server, usually 1.5 MB; make it smaller`
      return new KubeError(message, { status: 413, reason: 'RequestEntityTooLarge' })
    }
    const reason = reasonOf(response.statusCode, answer)
    const seconds = Number(response.headers['retry-after'])
    const message = [`${request}: ${response.statusCode} ${reason}`, answer.message].filter((part) => part !== '')
    return new KubeError(message.join(': '), {
      status: response.statusCode,
      reason,
      retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
      missing: response.statusCode === 404 && !isDenial ? answer.missing : undefined,
      isDenial,
    })
  }

  static unreachable(method: string, path: string, cause: unknown): KubeError {
    const message = cause instanceof Error ? cause.message : String(cause)
    return new KubeError(`${method} ${path}: no answer: ${message}`, { status: 0, reason: 'Unreachable', cause })
  }
}

// etcd and gRPC refuse an object that is too large with an answer like a server error, which would be retried for ever.
const TOO_LARGE = /request is too large|trying to send message larger than max/

// The server's reason is InternalError, as for its own errors. Source: k8s.io/apiserver, webhook errors ("failed
// calling webhook").
const WEBHOOK_AWAY = /^Internal error occurred: failed calling webhook /

/** The cause of an HTTP 403 for a create in a namespace that has a deletionTimestamp. Source: k8s.io/api/core/v1, NamespaceTerminatingCause. */
const NAMESPACE_TERMINATING = 'NamespaceTerminating'

// The server's reason for a terminating namespace is Forbidden, as for missing rights; only the cause distinguishes
// them.
function reasonOf(status: number, { reason, message, isDenial, causes }: ReadStatus): string {
  if (WEBHOOK_AWAY.test(message)) return 'WebhookUnavailable'
  return status === 403 && !isDenial && causes.includes(NAMESPACE_TERMINATING) ? NAMESPACE_TERMINATING : reason
}

interface ApiStatus {
  readonly reason?: string
  readonly message?: string
  readonly details?: {
    readonly name?: string
    readonly kind?: string
    readonly causes?: readonly { readonly field?: string; readonly reason?: string; readonly message?: string }[]
  }
}

interface ReadStatus {
  readonly reason: string
  readonly message: string
  readonly missing?: MissingObject | undefined
  readonly isDenial: boolean
  /** Reasons of the causes in the status' details. */
  readonly causes: readonly string[]
}

// Prefixes of denials by webhooks, whose status may have any code and reason, and by policies. Source:
// k8s.io/apiserver, ToStatusErr of webhooks' errors, and the validating admission policies.
const DENIED = [
  /^(?<by>admission webhook "[^"]{1,253}" denied the request)(?:: (?<sentence>[^]*)| without explanation)$/,
  /^\S+ "[^"]*" is (?<by>forbidden: ValidatingAdmissionPolicy '[^']{1,253}'(?: with binding '[^']{1,253}')? denied request): (?<sentence>[^]*)$/,
]

/** The message of a denial without values: the denying webhook or policy, and its reason. */
function denialText(message: string): string | undefined {
  for (const form of DENIED) {
    const { by, sentence } = form.exec(message)?.groups ?? {}
    if (by !== undefined) return sentence === undefined ? message : `${by}: ${blankValues(sentence)}`
  }
  return undefined
}

// Some webhook libraries use a whole sentence as the reason; the message contains it too.
function denialReason({ reason }: ApiStatus): string {
  return typeof reason === 'string' && /^[A-Za-z]{1,64}$/.test(reason) ? reason : 'WebhookDenied'
}

function parseStatus(status: number, text: string, sent: unknown): ReadStatus {
  try {
    const body = JSON.parse(text) as ApiStatus
    const { reason = 'Unknown', message: statusMessage = '' } = body
    const denied = denialText(statusMessage)
    if (denied !== undefined)
      return {
        reason: denialReason(body),
        message: status === 422 ? denied : statusMessage,
        isDenial: true,
        causes: [],
      }
    const message = status === 422 ? refusedObjectText(body, sent) : statusMessage
    return { reason, message, missing: missingIn(body), isDenial: false, causes: causesIn(body) }
  } catch {
    if (status === 422) return { reason: 'Unknown', message: '', isDenial: false, causes: [] }
    // Proxies answer with text; its first 200 characters are enough for users.
    return { reason: 'Unknown', message: text.slice(0, 200), isDenial: false, causes: [] }
  }
}

// Proxies may answer with any JSON.
function causesIn({ details }: ApiStatus): readonly string[] {
  const causes: unknown = details?.causes
  if (!Array.isArray(causes)) return []
  return (causes as readonly { readonly reason?: string }[]).flatMap(({ reason }) => reason ?? [])
}

function missingIn({ reason, details }: ApiStatus): MissingObject | undefined {
  const { kind, name } = details ?? {}
  return reason === 'NotFound' && typeof kind === 'string' && typeof name === 'string' ? { kind, name } : undefined
}

// The server's message for a refused object quotes values, and templates may have filled them with secrets.
function refusedObjectText({ details = {} }: ApiStatus, sent: unknown): string {
  const { kind = 'object', name = '', causes = [] } = details
  const what = [
    kind,
    ...[name, nameIn(sent)]
      .filter((one) => one !== '')
      .slice(0, 1)
      .map((one) => `"${one}"`),
  ].join(' ')
  const where = causes.map(({ field = '', reason = '', message = '' }) => {
    const unknown = unknownFields(message)
    if (unknown.length > 0) return `unknown field ${unknown.join(', ')}`
    const [kindOfMistake = ''] = message.split(/[:"]/)
    const place = field === '[]' || field === '' ? 'the whole' : field
    return `${place}: ${refusedField(message, sent) ?? (kindOfMistake.trim() === '' ? reason : kindOfMistake.trim())}`
  })
  return [`${what} is refused`, ...(where.length === 0 ? [] : [where.join('; ')])].join(': ')
}

function nameIn(body: unknown): string {
  const name = (body as { readonly metadata?: { readonly name?: unknown } } | undefined)?.metadata?.name
  return typeof name === 'string' ? name : ''
}

// The server refuses a strict patch as a whole and quotes it; the names of unknown fields come last.
function unknownFields(message: string): readonly string[] {
  const [, decodingErrors = ''] = /[^]*: strict decoding error: ([^]*)$/.exec(message) ?? []
  return [...decodingErrors.matchAll(/unknown field "([^"]+)"/g)].flatMap(([, field]) => field ?? [])
}

// A denial is not an answer about the requested object.
const hasStatus = (error: unknown, status: number): error is KubeError =>
  error instanceof KubeError && error.status === status && !error.isDenial

export const isNotFound = (error: unknown): error is KubeError => hasStatus(error, 404)
export const isAlreadyExists = (error: unknown): error is KubeError =>
  hasStatus(error, 409) && error.reason === 'AlreadyExists'
export const isConflict = (error: unknown): error is KubeError => hasStatus(error, 409) && error.reason === 'Conflict'

/**
 * Whether the server refuses to create an object because its namespace is being deleted. The same request succeeds in a
 * new namespace of that name.
 */
export const isNamespaceTerminating = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === NAMESPACE_TERMINATING

// Retries cannot succeed, because the request is wrong. 401 and 403 are not final: tokens rotate, a restarted server
// loads its roles late, and a quota may be raised.
const FINAL_STATUS = new Set([400, 405, 413, 415, 422])

/** Whether the same request cannot succeed later. */
export const isFinal = (error: KubeError): boolean => FINAL_STATUS.has(error.status)

// Temporary states of the server: overloaded, away, slow, or a conflict.
const PASSING_STATUS = new Set([0, 401, 408, 409, 429, 502, 503, 504])

/** Whether the server refuses the request for this object: by its rules, its roles, or a webhook. */
export const isRefusal = (error: KubeError): boolean => !PASSING_STATUS.has(error.status)

const REFUSALS: ReadonlySet<string> = new Set([
  ...['Invalid', 'BadRequest', 'Forbidden', 'MethodNotAllowed', 'RequestEntityTooLarge'],
  ...['WebhookDenied', 'WebhookUnavailable', NAMESPACE_TERMINATING],
])

/** Like `isRefusal`, for the reason stored in a failure. */
export const isRefusalReason = (reason: string): boolean => REFUSALS.has(reason)
