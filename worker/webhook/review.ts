// Answers an AdmissionReview by the rules of the kind that it is about: those that need nothing first, and the others where these say nothing.
//
//   R1. Nothing stands in the way of a deletion: what is being deleted passes, and so does a change of metadata or status alone.
//   R2. What no rule is about passes.
//
// Source: admission.k8s.io/v1.

import { isDeepStrictEqual } from 'node:util'

import { type Admission, type AdmissionOperation, type Problem, problemText } from '../../workflows/kit/index.ts'
import type { AskFurther } from './further.ts'

// An object with a thousand mistakes is not better told of with all of them, and they are not looked for.
const PROBLEMS_SHOWN = 20
const FIELD_SHOWN = 200

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
  const { apiVersion, kind, request } = (isFields(body) ? body : {}) as Review
  if (kind !== 'AdmissionReview' || !isFields(request) || typeof request['uid'] !== 'string') return undefined
  const problems = await problemsOf(request, admissions, further)
  const response = problems.length === 0 ? { allowed: true } : { allowed: false, status: refusal(request, problems) }
  return { apiVersion, kind, response: { uid: request['uid'], ...response } }
}

/** One more than is told, where there are more. */
async function problemsOf(
  request: ReviewRequest,
  admissions: readonly Admission[],
  further: AskFurther,
): Promise<readonly Problem[]> {
  const { object, oldObject, subResource = '', userInfo, namespace } = request
  const admission = admissionFor(request, admissions)
  const operation = admission?.operations.find((one): one is AdmissionOperation => one === request.operation)
  if (admission === undefined || operation === undefined || subResource !== '' || !isFields(object)) return []
  const old = isFields(oldObject) ? oldObject : undefined
  if (!isAskedAbout(object, old)) return []
  const asked = { operation, object, old, user: userOf(userInfo) }
  const problems = first(admission.validate(asked))
  if (problems.length > 0) return problems
  return first(await further(admission, { ...asked, namespace: typeof namespace === 'string' ? namespace : '' }))
}

function first(all: Iterable<Problem>): readonly Problem[] {
  const problems: Problem[] = []
  for (const problem of all) {
    problems.push(problem)
    if (problems.length > PROBLEMS_SHOWN) break
  }
  return problems
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

/** R1. */
function isAskedAbout(object: Fields, old: Fields | undefined): boolean {
  const { metadata } = object
  if (isFields(metadata) && typeof metadata['deletionTimestamp'] === 'string') return false
  return old === undefined || !isDeepStrictEqual(judgedPart(object), judgedPart(old))
}

function judgedPart(object: Fields): Fields {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'metadata' && name !== 'status'))
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
      ...{ group: kind?.group, kind: kind?.kind, name },
      causes: shown.map(({ field, found, expected }) => ({
        ...{ reason: 'FieldValueInvalid', field: field.slice(0, FIELD_SHOWN) },
        message: `Invalid value: found ${found}, expected ${expected}`,
      })),
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
