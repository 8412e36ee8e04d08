// Answers AdmissionReviews: validates an object by the rules of its kind, first the rules that need no reads, then the
// further rules; or returns the changes of the kind's mutations.
//
//   R1. Objects that are being deleted are allowed, and so are changes of metadata or status alone, except where the
//       kind has rules about metadata.
//   R2. Kinds and operations without a rule are allowed. No rule applies to deletions; a wing may count them.
//   R3. A mutation sees the changes of the mutations before it. Mutations never refuse an object.
//
// Source: admission.k8s.io/v1.

import {
  type Admission,
  type AdmissionOperation,
  type Problem,
  problemText,
  writeJson,
  isFields,
  fieldsOf,
  type JsonFields,
} from '../../workflows/kit/index.ts'
import { matchesWrite, isNewOrChanged } from './match-conditions.ts'
import { type PatchOperation, createPatch } from './json-patch.ts'
import type { ValidateFurther, MutateFurther } from './further-rules.ts'

// The search stops at this number: more problems would not help the user.
const MAX_PROBLEMS = 20
const MAX_FIELD_LENGTH = 200
// The API server truncates warnings to 4096 characters in total.
const MAX_WARNINGS = 10
const MAX_WARNING_LENGTH = 256

interface Review {
  readonly apiVersion?: unknown
  readonly kind?: unknown
  readonly request?: ReviewRequest
}

interface ReviewRequest {
  readonly uid?: unknown
  readonly kind?: { readonly group?: unknown; readonly kind?: unknown }
  readonly operation?: unknown
  readonly subResource?: unknown
  readonly name?: unknown
  readonly namespace?: unknown
  readonly object?: unknown
  readonly oldObject?: unknown
  readonly userInfo?: { readonly username?: unknown; readonly groups?: unknown }
}

/** The response; undefined if the body is not an AdmissionReview. */
export async function answerReview(
  body: unknown,
  admissions: readonly Admission[],
  further: ValidateFurther,
): Promise<object | undefined> {
  const review = reviewIn(body)
  if (review === undefined) return undefined
  const { request } = review
  const { problems, warnings = [] } = await verdictOn(request, admissions, further)
  if (problems.length > 0) return responseTo(review, { allowed: false, status: refusal(request, problems) })
  return responseTo(review, { allowed: true, ...(warnings.length > 0 && { warnings: warnings.map(warningText) }) })
}

/** The response with a JSON patch; undefined if the body is not an AdmissionReview. */
export function answerMutation(
  body: unknown,
  admissions: readonly Admission[],
  further: MutateFurther,
): object | undefined {
  const review = reviewIn(body)
  if (review === undefined) return undefined
  const operations = changesOf(review.request, admissions, further)
  const patch = () => Buffer.from(writeJson(operations)).toString('base64')
  return responseTo(review, { allowed: true, ...(operations.length > 0 && { patchType: 'JSONPatch', patch: patch() }) })
}

type AdmissionReview = Review & { readonly request: ReviewRequest & { readonly uid: string } }

function reviewIn(body: unknown): AdmissionReview | undefined {
  const { kind, request } = (isFields(body) ? body : {}) as Review
  const isReview = kind === 'AdmissionReview' && isFields(request) && typeof request['uid'] === 'string'
  return isReview ? (body as AdmissionReview) : undefined
}

function responseTo({ apiVersion, kind, request }: AdmissionReview, response: object): object {
  return { apiVersion, kind, response: { uid: request.uid, ...response } }
}

interface Verdict {
  /** One more than the maximum if there are more. */
  readonly problems: readonly Problem[]
  readonly warnings?: readonly string[]
}

async function verdictOn(
  request: ReviewRequest,
  admissions: readonly Admission[],
  further: ValidateFurther,
): Promise<Verdict> {
  const match = admissionWrite(request, admissions)
  if (match === undefined) return { problems: [] }
  const { admission, write } = match
  const { namespace } = request
  const furtherAsked = { ...write, namespace: typeof namespace === 'string' ? namespace : '' }
  const ofMetadata = await verdictOnMetadata(admission, furtherAsked, further)
  if (ofMetadata.problems.length > 0 || !isNewOrChanged(write.object, write.old)) return ofMetadata
  const problems = firstProblems(admission.validate(write))
  if (problems.length > 0) return { problems }
  const more = await further(admission, furtherAsked)
  if (more.problems.length > 0) return { problems: firstProblems(more.problems) }
  const warnings = admission.warnings === undefined ? [] : firstProblems(admission.warnings(write))
  return {
    problems: [],
    warnings: [...(ofMetadata.warnings ?? []), ...warnings, ...more.warnings].slice(0, MAX_WARNINGS),
  }
}

/** Applies the kind's rules about metadata to the writes that these rules select. */
async function verdictOnMetadata(
  admission: Admission,
  write: AdmissionWrite & { readonly namespace: string },
  further: ValidateFurther,
): Promise<Verdict> {
  const { metadata } = admission
  if (metadata === undefined || !matchesWrite(metadata.filter, write.object, write.old)) return { problems: [] }
  const atOnce = firstProblems(metadata.validate(write))
  const problems = atOnce.length > 0 ? atOnce : firstProblems((await further(admission, write, 'metadata')).problems)
  if (problems.length > 0) return { problems }
  return { problems, warnings: firstProblems(metadata.warnings?.(write) ?? []).slice(0, MAX_WARNINGS) }
}

/** R3. */
function changesOf(
  request: ReviewRequest,
  admissions: readonly Admission[],
  further: MutateFurther,
): readonly PatchOperation[] {
  const match = admissionWrite(request, admissions)
  if (match === undefined) return []
  const { admission, write } = match
  let { object } = write
  if (!hasLabel(object, admission.labelled)) return []
  return (admission.mutations ?? []).flatMap((mutation) => {
    if (!matchesWrite(mutation.filter, object, write.old)) return []
    const now = { ...write, object }
    const done = createPatch(object, mutation.mutate?.(now) ?? further(admission, mutation.name, now))
    object = done.object
    return done.operations
  })
}

/** As the API server's objectSelector does. */
function hasLabel(object: JsonFields, label: string | undefined): boolean {
  return label === undefined || Object.hasOwn(fieldsOf(fieldsOf(object['metadata'])['labels']), label)
}

interface AdmissionWrite {
  readonly operation: AdmissionOperation
  readonly object: JsonFields
  readonly old: JsonFields | undefined
  readonly user: { readonly name: string; readonly groups: readonly string[] }
}

/** Undefined if no rule applies to the write (R2). */
function admissionWrite(
  request: ReviewRequest,
  admissions: readonly Admission[],
): { readonly admission: Admission; readonly write: AdmissionWrite } | undefined {
  const { object, oldObject, subResource = '', userInfo } = request
  const admission = admissionFor(request, admissions)
  const operation = admission?.operations.find((one): one is AdmissionOperation => one === request.operation)
  if (admission === undefined || operation === undefined || subResource !== '' || !isFields(object)) return undefined
  const old = isFields(oldObject) ? oldObject : undefined
  return { admission, write: { operation, object, old, user: userOf(userInfo) } }
}

function firstProblems<One>(all: Iterable<One>): readonly One[] {
  const match: One[] = []
  for (const one of all) {
    match.push(one)
    if (match.length > MAX_PROBLEMS) break
  }
  return match
}

/** A warning must fit into an HTTP header: one line. Source: Kubernetes, "Dynamic admission control: response". */
function warningText(text: string): string {
  const line = text.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]+/gu, ' ')
  return line.length > MAX_WARNING_LENGTH ? `${line.slice(0, MAX_WARNING_LENGTH - 1)}…` : line
}

/** The rules for the kind (R2). */
function admissionFor({ kind }: ReviewRequest, admissions: readonly Admission[]): Admission | undefined {
  return admissions.find((one) => one.kind.group === kind?.group && one.kind.kind === kind.kind)
}

function userOf(info: ReviewRequest['userInfo']) {
  const groups: readonly unknown[] = Array.isArray(info?.groups) ? info.groups : []
  return {
    name: typeof info?.username === 'string' ? info.username : '',
    groups: groups.filter((one) => typeof one === 'string'),
  }
}

/** The status that kubectl prints: the fields and their problems, in the form of schema errors. */
function refusal({ kind, name }: ReviewRequest, problems: readonly Problem[]): object {
  const shown = problems.slice(0, MAX_PROBLEMS)
  const words = shown.map(problemText).join(' | ')
  return {
    status: 'Failure',
    code: 422,
    reason: 'Invalid',
    message: problems.length > shown.length ? `${words} | and more` : words,
    details: {
      group: kind?.group,
      kind: kind?.kind,
      name,
      causes: shown.map(({ field, found: match, expected }) => ({
        reason: 'FieldValueInvalid',
        // kubectl prints the field before the message. A problem without a field concerns the whole object.
        field: field === '' ? (kind?.kind ?? 'object') : field.slice(0, MAX_FIELD_LENGTH),
        message: `Invalid value: found ${match}; expected ${expected}`,
      })),
    },
  }
}
