// What can go wrong at the Kubernetes API, as data. Apart from how it leaves an activity (errors.ts): a command line has no activities, and need not load
// what they fail with.

import { blankValues, refusedField } from './redact-message.ts'

interface ErrorResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
}

/** As the server calls it: the kind by its plural. */
interface MissingObject {
  readonly kind: string
  readonly name: string
}

/** An answer of 400 and above, or no answer (status 0). */
export class KubeError extends Error {
  readonly status: number
  readonly reason: string
  readonly retryAfterMs: number | undefined
  /** Of a 404: the object that the server says it does not have. Undefined: it says none, as where it does not know the path. */
  readonly missing: MissingObject | undefined
  /** An admission webhook or policy of the cluster has denied the request, with whatever status: one that rules may let pass later. */
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

  /** The same without these texts, which a server, or a webhook of it, may have quoted. */
  redacting(texts: readonly string[]): KubeError {
    const told = texts.filter((text) => text.trim() !== '' && this.message.includes(text))
    if (told.length === 0) return this
    const message = told.reduce((left, text) => left.replaceAll(text, '***'), this.message)
    return this.withMessage(message)
  }

  /** The same in other words. */
  withMessage(message: string): KubeError {
    const { status, reason, retryAfterMs, isDenial } = this
    return new KubeError(message, { status, reason, retryAfterMs, isDenial })
  }

  /** @param sent the body of the request: its texts are taken out of the server's words, and its name is used where the answer has none. */
  static fromResponse(request: string, response: ErrorResponse, text: string, sent?: unknown): KubeError {
    const answer = parseStatus(response.statusCode, text, sent)
    const { isDenial } = answer
    if (!isDenial && TOO_LARGE.test(answer.message)) {
      const message = `${request}: the object is over the limit of the server's store, usually 1.5 MB; expected less in it`
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

// etcd and gRPC refuse what is too large with an answer that looks like a failure of the server; it would be tried again for ever.
const TOO_LARGE = /request is too large|trying to send message larger than max/

// The server's reason is InternalError, as for its own faults. Source: k8s.io/apiserver, webhook errors ("failed calling webhook").
const WEBHOOK_AWAY = /^Internal error occurred: failed calling webhook /

/** The cause of an HTTP 403 for a create in a namespace that has a deletionTimestamp. Source: k8s.io/api/core/v1, NamespaceTerminatingCause. */
const NAMESPACE_TERMINATING = 'NamespaceTerminating'

// The server's reason for a terminating namespace is Forbidden, as for missing rights; only the cause tells them apart.
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
  /** The reasons of the causes in the status' details. */
  readonly causes: readonly string[]
}

// The server's own words before those of a webhook, whose status may have any code and any reason, and before those of a policy.
// Source: k8s.io/apiserver, ToStatusErr of webhooks' errors, and the validating admission policies.
const DENIED = [
  /^(?<by>admission webhook "[^"]{1,253}" denied the request)(?:: (?<sentence>[^]*)| without explanation)$/,
  /^\S+ "[^"]*" is (?<by>forbidden: ValidatingAdmissionPolicy '[^']{1,253}'(?: with binding '[^']{1,253}')? denied request): (?<sentence>[^]*)$/,
]

/** The words of a denial that may be shown: who denies, and why, without values. */
function denialText(message: string): string | undefined {
  for (const form of DENIED) {
    const { by, sentence } = form.exec(message)?.groups ?? {}
    if (by !== undefined) return sentence === undefined ? message : `${by}: ${blankValues(sentence)}`
  }
  return undefined
}

// Webhooks of some libraries give a whole sentence for the reason; it is in the message as well.
function denialReason({ reason }: ApiStatus): string {
  return typeof reason === 'string' && /^[A-Za-z]{1,64}$/.test(reason) ? reason : 'WebhookDenied'
}

function parseStatus(status: number, text: string, sent: unknown): ReadStatus {
  try {
    const body = JSON.parse(text) as ApiStatus
    const { reason = 'Unknown', message: told = '' } = body
    const denied = denialText(told)
    if (denied !== undefined)
      return { reason: denialReason(body), message: status === 422 ? denied : told, isDenial: true, causes: [] }
    const message = status === 422 ? refusedObjectText(body, sent) : told
    return { reason, message, missing: missingIn(body), isDenial: false, causes: causesIn(body) }
  } catch {
    if (status === 422) return { reason: 'Unknown', message: '', isDenial: false, causes: [] }
    // Proxies answer with text; its beginning is all a person needs.
    return { reason: 'Unknown', message: text.slice(0, 200), isDenial: false, causes: [] }
  }
}

// Proxies may answer with anything.
function causesIn({ details }: ApiStatus): readonly string[] {
  const causes: unknown = details?.causes
  if (!Array.isArray(causes)) return []
  return (causes as readonly { readonly reason?: string }[]).flatMap(({ reason }) => reason ?? [])
}

function missingIn({ reason, details }: ApiStatus): MissingObject | undefined {
  const { kind, name } = details ?? {}
  return reason === 'NotFound' && typeof kind === 'string' && typeof name === 'string' ? { kind, name } : undefined
}

// The server's own words for a refused object quote the values that it refuses, and templates may fill them with secrets.
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
    if (unknown.length > 0) return `the kind has no field ${unknown.join(', ')}`
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

// A patch that was asked for strictly is refused as a whole, and quoted; the names of the fields come last.
function unknownFields(message: string): readonly string[] {
  const [, told = ''] = /[^]*: strict decoding error: ([^]*)$/.exec(message) ?? []
  return [...told.matchAll(/unknown field "([^"]+)"/g)].flatMap(([, field]) => field ?? [])
}

// What a webhook answers with is about its rules, not about the object that was asked for.
const hasStatus = (error: unknown, status: number): error is KubeError =>
  error instanceof KubeError && error.status === status && !error.isDenial

export const isNotFound = (error: unknown): error is KubeError => hasStatus(error, 404)
export const isAlreadyExists = (error: unknown): error is KubeError =>
  hasStatus(error, 409) && error.reason === 'AlreadyExists'
export const isConflict = (error: unknown): error is KubeError => hasStatus(error, 409) && error.reason === 'Conflict'

/** Whether the server refuses to create an object because its namespace is being deleted. The same request succeeds in a new namespace of that name. */
export const isNamespaceTerminating = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === NAMESPACE_TERMINATING

// Trying again cannot help: what we send is wrong. Not so 401 and 403: tokens rotate, a restarted server learns its roles late,
// and a quota may be raised.
const FINAL_STATUS = new Set([400, 405, 413, 415, 422])

/** Whether the same request cannot succeed later. */
export const isFinal = (error: KubeError): boolean => FINAL_STATUS.has(error.status)

// Of the server as a whole, or of the moment: overloaded, away, slow, or a conflict.
const PASSING_STATUS = new Set([0, 401, 408, 409, 429, 502, 503, 504])

/** Whether the server has answered about this object that it does not take the request: by its rules, its roles, or a webhook of theirs. */
export const isRefusal = (error: KubeError): boolean => !PASSING_STATUS.has(error.status)

const REFUSALS: ReadonlySet<string> = new Set([
  ...['Invalid', 'BadRequest', 'Forbidden', 'MethodNotAllowed', 'RequestEntityTooLarge'],
  ...['WebhookDenied', 'WebhookUnavailable', NAMESPACE_TERMINATING],
])

/** The same, of the reason that a failure has kept. */
export const isRefusalReason = (reason: string): boolean => REFUSALS.has(reason)
