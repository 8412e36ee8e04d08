import { describe, expect, it } from 'vitest'

import type { ValidateFurther, FurtherAnswer } from '../../../worker/webhook/further-rules.ts'
import { answerReview } from '../../../worker/webhook/review.ts'
import type { Admission } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import { ADMISSIONS } from '../../../workflows/admission.gen.ts'

const NOTHING: FurtherAnswer = { problems: [], warnings: [] }
const RULES = ADMISSIONS['landscaper'] ?? []
const BAD = { metadata: { name: 'it' }, spec: { type: 't', config: {}, secretRef: { name: 's' } } }
const GOOD = { metadata: { name: 'it' }, spec: { type: 't' } }

async function review(request: object, further: ValidateFurther = () => Promise.resolve(NOTHING)) {
  const kind = { group: 'landscaper.gardener.cloud', version: 'v1alpha1', kind: 'Target' }
  const body = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u-1',
      kind,
      operation: 'CREATE',
      name: 'it',
      userInfo: { username: 'x', groups: ['y'] },
      ...request,
    },
  }
  return (await answerReview(body, RULES, further)) as { response: { uid: string; allowed: boolean; status?: object } }
}

describe('a review', () => {
  it('is answered with its uid', async () => {
    expect(await review({ object: GOOD })).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u-1', allowed: true },
    })
  })

  it("is refused with every invalid field, in kubectl's format", async () => {
    expect((await review({ object: BAD })).response).toEqual({
      uid: 'u-1',
      allowed: false,
      status: {
        status: 'Failure',
        code: 422,
        reason: 'Invalid',
        message: 'spec: found config and secretRef; expected one of them',
        details: {
          group: 'landscaper.gardener.cloud',
          kind: 'Target',
          name: 'it',
          causes: [
            {
              reason: 'FieldValueInvalid',
              field: 'spec',
              message: 'Invalid value: found config and secretRef; expected one of them',
            },
          ],
        },
      },
    })
  })

  it('names the kind where a problem has no field, because kubectl prints the field before each message', async () => {
    const problem = { field: '', found: 'a new Target', expected: 'only deletions' }
    const { status } = (await review({ object: GOOD }, () => Promise.resolve({ problems: [problem], warnings: [] })))
      .response
    expect(status).toMatchObject({
      message: 'found a new Target; expected only deletions',
      details: { causes: [{ field: 'Target', message: 'Invalid value: found a new Target; expected only deletions' }] },
    })
  })

  it('with many problems reports the first ones and that there are more', async () => {
    const kind = { group: 'landscaper.gardener.cloud', version: 'v1alpha1', kind: 'Execution' }
    const config = { apiVersion: 'v1', kind: 'X' }
    const deployItems = Array.from({ length: 1000 }, () => ({ name: '', type: 't', config }))
    const { status } = (await review({ kind, object: { metadata: {}, spec: { deployItems } } })).response as {
      status: { message: string; details: { causes: object[] } }
    }
    expect(status.message).toMatch(/ \| and more$/)
    expect(status.details.causes).toHaveLength(20)
  })

  it.each([
    [
      'of a change of metadata alone',
      { operation: 'UPDATE', object: { ...BAD, metadata: { labels: { a: 'b' } } }, oldObject: BAD },
    ],
    [
      'of a change of status alone',
      { operation: 'UPDATE', object: { ...BAD, status: { phase: 'x' } }, oldObject: BAD },
    ],
    [
      'of what is being deleted',
      {
        operation: 'UPDATE',
        object: { ...BAD, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
        oldObject: GOOD,
      },
    ],
    ['of a deletion', { operation: 'DELETE', object: null, oldObject: BAD }],
    ['of a subresource', { object: BAD, subResource: 'status', operation: 'UPDATE' }],
    ['of a kind without rules', { object: BAD, kind: { group: 'example.org', kind: 'Target' } }],
  ])('%s is allowed', async (_, request) => {
    expect((await review(request)).response.allowed).toBe(true)
  })

  it('calls further rules only if the first rules find nothing', async () => {
    const problem = { field: 'spec', found: 'an archive', expected: 'another' }
    const asked: string[] = []
    const further: ValidateFurther = async ({ kind }, { namespace }) => {
      asked.push(`${namespace}/${kind.kind}`)
      return await Promise.resolve({ ...NOTHING, problems: [problem] })
    }
    expect((await review({ object: GOOD, namespace: 'n' }, further)).response).toMatchObject({
      allowed: false,
      status: { message: 'spec: found an archive; expected another' },
    })
    await review({ object: BAD, namespace: 'n' }, further)
    await review({ operation: 'UPDATE', object: GOOD, oldObject: { ...GOOD, metadata: {} }, namespace: 'n' }, further)
    expect(asked).toEqual(['n/Target'])
  })

  it.each([undefined, null, 7, [], {}, { kind: 'AdmissionReview' }, { kind: 'AdmissionReview', request: {} }])(
    'is not %j',
    async (body) => {
      expect(await answerReview(body, RULES, () => Promise.resolve(NOTHING))).toBeUndefined()
    },
  )
})

describe('the metadata rules of a review', () => {
  const wrong = (field: string) => [{ field, found: 'this', expected: 'that' }]
  const rules: Admission = {
    kind: targetKind,
    operations: ['CREATE', 'UPDATE'],
    validate: ({ object }) => ('bad' in (object as { spec: object }).spec ? wrong('spec') : []),
    metadata: {
      filter: { finalizersRemoved: ['example.org/kept'], annotationsSet: ['example.org/asks'] },
      validate: () => wrong('metadata'),
    },
    warnings: () => ['it is\nlarge', 'x'.repeat(500), ...Array.from({ length: 30 }, () => 'more')],
  }
  const answer = async (
    object: object,
    oldObject: object | undefined,
    further: ValidateFurther = () => Promise.resolve(NOTHING),
  ) => {
    const request = {
      uid: 'u-1',
      kind: { group: targetKind.group, kind: 'Target' },
      object,
      oldObject,
      userInfo: {},
      operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    }
    const { response } = (await answerReview({ kind: 'AdmissionReview', request }, [rules], further)) as {
      response: { allowed: boolean; warnings?: readonly string[]; status?: { message: string } }
    }
    return response
  }
  const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' }
  const kept = { finalizers: ['a', 'example.org/kept'] }

  it('include further rules, which are called if the others find nothing', async () => {
    const about: unknown[] = []
    const further: ValidateFurther = (_, { namespace }, of) => {
      about.push([namespace, of])
      return Promise.resolve({ problems: of === 'metadata' ? wrong('further') : [], warnings: [] })
    }
    const lenient: Admission = {
      ...rules,
      metadata: { filter: { finalizersRemoved: ['example.org/kept'] }, validate: () => [] },
    }
    const request = {
      uid: 'u-1',
      kind: { group: targetKind.group, kind: 'Target' },
      operation: 'UPDATE',
      namespace: 'n',
      object: { metadata: leaving, spec: {} },
      oldObject: { metadata: { ...leaving, ...kept }, spec: {} },
    }
    const answered = (one: Admission) => answerReview({ kind: 'AdmissionReview', request }, [one], further)
    expect(await answered(lenient)).toMatchObject({
      response: { allowed: false, status: { message: 'further: found this; expected that' } },
    })
    expect(await answered(rules)).toMatchObject({
      response: { allowed: false, status: { message: 'metadata: found this; expected that' } },
    })
    expect(about).toEqual([['n', 'metadata']])
  })

  it('apply when a finalizer is removed or an annotation is set, also during deletion and for any spec', async () => {
    const spec = { bad: true }
    const before = { metadata: { ...leaving, ...kept }, spec }
    const gone = await answer({ metadata: { ...leaving, finalizers: ['a'] }, spec }, before)
    expect(gone).toMatchObject({ allowed: false, status: { message: 'metadata: found this; expected that' } })
    const asks = { metadata: { ...kept, annotations: { 'example.org/asks': 'x' } }, spec }
    expect((await answer(asks, { metadata: kept, spec })).allowed).toBe(false)
  })

  it('do not apply to other changes of metadata', async () => {
    const spec = { bad: true }
    const before = { metadata: { ...leaving, ...kept }, spec }
    expect((await answer({ metadata: { ...leaving, finalizers: ['example.org/kept'] }, spec }, before)).allowed).toBe(
      true,
    )
    const annotated = (annotations: object) => ({ metadata: { ...kept, annotations }, spec })
    expect((await answer(annotated({ b: 'x' }), annotated({ 'example.org/asks': 'x' }))).allowed).toBe(true)
  })

  it('give a few short warnings for allowed objects', async () => {
    const further: ValidateFurther = () => Promise.resolve({ problems: [], warnings: ['and far away'] })
    const { allowed, warnings = [] } = await answer({ metadata: {}, spec: {} }, undefined, further)
    expect([allowed, warnings.length, warnings[0]]).toEqual([true, 10, 'it is large'])
    expect(warnings[1]).toMatch(/^x{255}…$/)
    expect((await answer({ metadata: {}, spec: { bad: true } }, undefined)).warnings).toBeUndefined()
    expect((await answer({ metadata: { labels: {} }, spec: {} }, { metadata: {}, spec: {} })).warnings).toBeUndefined()
  })
})
