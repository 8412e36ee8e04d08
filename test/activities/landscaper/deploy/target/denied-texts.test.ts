import { describe, expect, it } from 'vitest'
import { withoutTexts } from '../../../../../activities/landscaper/deploy/target/target-client.ts'
import { KubeError } from '../../../../../activities/kube/errors.ts'

const HEAD = 'POST /apis/apps/v1/deployments: 403 Forbidden: admission webhook "apps.example" denied the request: '

const told = (sentence: string, body: unknown, head = HEAD) => {
  const error = new KubeError(head + sentence, { status: 403, reason: 'Forbidden', isDenial: true })
  const left = withoutTexts(error, body)
  expect(left).toMatchObject({ status: 403, reason: 'Forbidden', isDenial: true })
  return left.message.slice(head.length)
}

describe('the message of a webhook that denies an object', () => {
  it.each<[string, string, unknown]>([
    ["'***' is no image", "'canary:1' is no image", { spec: { containers: [{ image: 'canary:1' }] } }],
    ['line *** is bad', 'line canary=(1 is bad', { data: { script: 'first\ncanary=(1\n' } }],
    ['*** is weak', 'canary is weak', { kind: 'Secret', data: { password: Buffer.from('canary').toString('base64') } }],
    ['port ***', 'port 47110', { spec: { port: 47110 } }],
    ['*** and ***', 'canary and canary bird', { a: 'canary', b: 'canary bird' }],
    ['note *** is bad', 'note canary is bad', { metadata: { annotations: { note: 'canary' } } }],
  ])('has no text of it: %s', (expected, sentence, body) => {
    expect(told(sentence, body)).toBe(expected)
  })

  it('keeps its words, and the names of the object', () => {
    const metadata = { name: 'shop', namespace: 'town', labels: { team: 'blue' } }
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { selector: 'shop', a: 'own', b: 'row' } }
    const sentence = 'Deployment town/shop of apps/v1 has no owner, and team blue has no row'
    expect(told(sentence, body)).toBe(sentence)
    for (const nothing of [undefined, null, 'x', 7, []]) expect(told(sentence, nothing)).toBe(sentence)
  })

  it('changes only after the request and the name of the webhook', () => {
    expect(told('no apps', { rules: ['apps', 'apps.example', 'deployments', 'Forbidden'] })).toBe('no ***')
    const head = `PUT /x: 422 Invalid: forbidden: ValidatingAdmissionPolicy 'canary' denied request: `
    expect(told('canary', { data: 'canary' }, head)).toBe('***')
  })
})
