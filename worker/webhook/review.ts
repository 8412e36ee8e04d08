// Answers an AdmissionReview by the rules of the kind that it is about: those that need nothing first, and the others where these say nothing. Or, in
// another one, with what the mutations of the kind change.
//
//   R1. Nothing stands in the way of a deletion: what is being deleted passes, and so does a change of metadata or status alone, but for what the kind's
//       rules about metadata are asked of.
//   R2. What no rule is about passes; no rule is about deletions, of which a wing may want to hear.
//   R3. A mutation sees what those before it have changed, and refuses nothing.
//
// Source: admission.k8s.io/v1.

import {
  type Admission,
  type AdmissionOperation,
  type Problem,
  problemText,
  writeJson,
} from '../../workflows/kit/index.ts'
import { isAskedAbout, isNewOrChanged } from './asked-writes.ts'
import { type Fields, fieldsOf, isFields } from './fields.ts'
import type { AskFurther, MutateFurther } from './further.ts'
import { type PatchOperation, patchOf } from './json-patch.ts'

// An object with a thousand mistakes is not better told of with all of them, and they are not looked for.
const PROBLEMS_SHOWN = 20
const FIELD_SHOWN = 200
// The server drops what is beyond 4096 characters in all.
const WARNINGS_SHOWN = 10
const WARNING_SHOWN = 256

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

/** The answer as it is sent; undefined when this is no review. */
export async function answerReview(
  body: unknown,
  admissions: readonly Admission[],
  further: AskFurther,
): Promise<object | undefined> {
  const review = reviewIn(body)
  if (review === undefined) return undefined
  const { request } = review
  const { problems, warnings = [] } = await verdictOn(request, admissions, further)
  if (problems.length > 0) return answered(review, { allowed: false, status: refusal(request, problems) })
  return answered(review, { allowed: true, ...(warnings.length > 0 && { warnings: warnings.map(warningText) }) })
}

/** The answer to who asks what is to be changed; undefined when this is no review. */
export function answerMutation(
  body: unknown,
  admissions: readonly Admission[],
  further: MutateFurther,
): object | undefined {
  const review = reviewIn(body)
  if (review === undefined) return undefined
  const operations = changesOf(review.request, admissions, further)
  const patch = () => Buffer.from(writeJson(operations)).toString('base64')
  return answered(review, { allowed: true, ...(operations.length > 0 && { patchType: 'JSONPatch', patch: patch() }) })
}

type AskedReview = Review & { readonly request: ReviewRequest & { readonly uid: string } }

function reviewIn(body: unknown): AskedReview | undefined {
  const { kind, request } = (isFields(body) ? body : {}) as Review
  const isReview = kind === 'AdmissionReview' && isFields(request) && typeof request['uid'] === 'string'
  return isReview ? (body as AskedReview) : undefined
}

function answered({ apiVersion, kind, request }: AskedReview, response: object): object {
  return { apiVersion, kind, response: { uid: request.uid, ...response } }
}

interface Verdict {
  /** One more than is told, where there are more. */
  readonly problems: readonly Problem[]
  readonly warnings?: readonly string[]
}

async function verdictOn(
  request: ReviewRequest,
  admissions: readonly Admission[],
  further: AskFurther,
): Promise<Verdict> {
  const found = askedIn(request, admissions)
  if (found === undefined) return { problems: [] }
  const { admission, asked } = found
  const { namespace } = request
  const furtherAsked = { ...asked, namespace: typeof namespace === 'string' ? namespace : '' }
  const ofMetadata = await verdictOnMetadata(admission, furtherAsked, further)
  if (ofMetadata.problems.length > 0 || !isNewOrChanged(asked.object, asked.old)) return ofMetadata
  const problems = first(admission.validate(asked))
  if (problems.length > 0) return { problems }
  const more = await further(admission, furtherAsked)
  if (more.problems.length > 0) return { problems: first(more.problems) }
  const told = admission.warnings === undefined ? [] : first(admission.warnings(asked))
  return {
    problems: [],
    warnings: [...(ofMetadata.warnings ?? []), ...told, ...more.warnings].slice(0, WARNINGS_SHOWN),
  }
}

/** Applies the kind's rules about metadata to the writes that these rules select. */
async function verdictOnMetadata(
  admission: Admission,
  asked: AskedWrite & { readonly namespace: string },
  further: AskFurther,
): Promise<Verdict> {
  const { metadata } = admission
  if (metadata === undefined || !isAskedAbout(metadata.filter, asked.object, asked.old)) return { problems: [] }
  const atOnce = first(metadata.validate(asked))
  const problems = atOnce.length > 0 ? atOnce : first((await further(admission, asked, 'metadata')).problems)
  if (problems.length > 0) return { problems }
  return { problems, warnings: first(metadata.warnings?.(asked) ?? []).slice(0, WARNINGS_SHOWN) }
}

/** R3. */
function changesOf(
  request: ReviewRequest,
  admissions: readonly Admission[],
  further: MutateFurther,
): readonly PatchOperation[] {
  const found = askedIn(request, admissions)
  if (found === undefined) return []
  const { admission, asked } = found
  let { object } = asked
  if (!hasLabel(object, admission.labelled)) return []
  return (admission.mutations ?? []).flatMap((mutation) => {
    if (!isAskedAbout(mutation.filter, object, asked.old)) return []
    const now = { ...asked, object }
    const done = patchOf(object, mutation.mutate?.(now) ?? further(admission, mutation.name, now))
    object = done.object
    return done.operations
  })
}

/** As the API server selects. */
function hasLabel(object: Fields, label: string | undefined): boolean {
  return label === undefined || Object.hasOwn(fieldsOf(fieldsOf(object['metadata'])['labels']), label)
}

interface AskedWrite {
  readonly operation: AdmissionOperation
  readonly object: Fields
  readonly old: Fields | undefined
  readonly user: { readonly name: string; readonly groups: readonly string[] }
}

/** Undefined: there are no rules about it (R2). */
function askedIn(
  request: ReviewRequest,
  admissions: readonly Admission[],
): { readonly admission: Admission; readonly asked: AskedWrite } | undefined {
  const { object, oldObject, subResource = '', userInfo } = request
  const admission = admissionFor(request, admissions)
  const operation = admission?.operations.find((one): one is AdmissionOperation => one === request.operation)
  if (admission === undefined || operation === undefined || subResource !== '' || !isFields(object)) return undefined
  const old = isFields(oldObject) ? oldObject : undefined
  return { admission, asked: { operation, object, old, user: userOf(userInfo) } }
}

function first<One>(all: Iterable<One>): readonly One[] {
  const found: One[] = []
  for (const one of all) {
    found.push(one)
    if (found.length > PROBLEMS_SHOWN) break
  }
  return found
}

/** As headers take it: one line of few characters. Source: Kubernetes, "Dynamic admission control: response". */
function warningText(text: string): string {
  const line = text.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]+/gu, ' ')
  return line.length > WARNING_SHOWN ? `${line.slice(0, WARNING_SHOWN - 1)}…` : line
}

/** By group and kind (R2). */
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

/** What kubectl prints: the fields with what is wrong with them, as for what the schema refuses. */
function refusal({ kind, name }: ReviewRequest, problems: readonly Problem[]): object {
  const shown = problems.slice(0, PROBLEMS_SHOWN)
  const words = shown.map(problemText).join('; ')
  return {
    status: 'Failure',
    code: 422,
    reason: 'Invalid',
    message: problems.length > shown.length ? `${words}; and more` : words,
    details: {
      group: kind?.group,
      kind: kind?.kind,
      name,
      causes: shown.map(({ field, found, expected }) => ({
        reason: 'FieldValueInvalid',
        field: field.slice(0, FIELD_SHOWN),
        message: `Invalid value: found ${found}, expected ${expected}`,
      })),
    },
  }
}
