import { describe, expect, it } from 'vitest'

import {
  type WebhookClient,
  validatingConfiguration,
  mutatingConfiguration,
} from '../../../worker/webhook/configuration.ts'
import type { Mutation } from '../../../workflows/kit/index.ts'
import { ADMISSIONS } from '../../../workflows/admission.gen.ts'
import { WINGS } from '../../../workflows/wings.gen.ts'

const ASKED: WebhookClient = {
  address: { service: { namespace: 'pawl', name: 'pawl-webhook' } },
  failurePolicy: 'Fail',
  recordPolicy: 'Ignore',
  timeoutSeconds: 10,
  namespace: undefined,
  bundle: 'PEM',
}

function wanted(asked: Partial<WebhookClient> = {}) {
  const names = WINGS['landscaper']?.admission
  if (names === undefined) throw new Error('the wing says no names')
  return validatingConfiguration(names, ADMISSIONS['landscaper'] ?? [], { ...ASKED, ...asked })
}

describe('the configuration of the webhook', () => {
  it('has the names that users of the original know', () => {
    const { name, webhooks } = wanted()
    expect(name).toBe('landscaper-validation-webhook')
    const ofSpecs = webhooks.map((one) => one.name).filter((one) => !one.includes('.metadata.'))
    expect(ofSpecs).toEqual(
      ['deployitems', 'executions', 'installations', 'targets'].map(
        (plural) => `${plural}.validation.landscaper.gardener.cloud`,
      ),
    )
  })

  it('asks about what is made and of which the spec changes, not about what is labelled or being deleted', () => {
    expect(wanted().webhooks[0]).toMatchObject({
      rules: [{ operations: ['CREATE', 'UPDATE'], resources: ['deployitems'], scope: 'Namespaced' }],
      objectSelector: {
        matchExpressions: [
          { key: 'validation.landscaper.gardener.cloud/skip-validation', operator: 'NotIn', values: ['true'] },
        ],
      },
      matchConditions: [
        { expression: '!has(object.metadata.deletionTimestamp)' },
        {
          expression:
            'oldObject == null || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)',
        },
      ],
      failurePolicy: 'Fail',
      sideEffects: 'None',
      timeoutSeconds: 10,
    })
  })

  it('asks about kinds of others only what is to be changed, and only of objects with their label', () => {
    const names = WINGS['chaos']?.admission
    const rules = ADMISSIONS['chaos'] ?? []
    const validating = names && validatingConfiguration(names, rules, ASKED).webhooks
    expect(validating?.filter(({ name }) => name.startsWith('pods.'))).toEqual([])
    const changing = names && mutatingConfiguration(names, rules, ASKED)?.webhooks
    const [entry, ...more] = changing?.filter(({ name }) => name.startsWith('pods.')) ?? []
    expect(more).toEqual([])
    expect(entry).toMatchObject({
      name: 'pods.chaos-handler.mutation.chaos.datadoghq.com',
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
      objectSelector: { matchExpressions: [{ key: 'chaos.datadoghq.com/disrupt-on-init', operator: 'Exists' }] },
      failurePolicy: 'Ignore',
    })
  })

  it('passes no label over where the wing has none', () => {
    const names = { configuration: 'c', domain: 'd.example.org' }
    const [entry] = validatingConfiguration(names, ADMISSIONS['landscaper'] ?? [], ASKED).webhooks
    expect(entry?.['objectSelector']).toEqual({})
  })

  it('leads to the Service, or to a URL', () => {
    expect(wanted().webhooks[0]?.['clientConfig']).toEqual({
      caBundle: 'UEVN',
      service: { namespace: 'pawl', name: 'pawl-webhook', path: '/validate', port: 443 },
    })
    expect(wanted({ address: { url: 'https://127.0.0.1:9443' } }).webhooks[0]?.['clientConfig']).toEqual({
      caBundle: 'UEVN',
      url: 'https://127.0.0.1:9443/validate',
    })
  })

  it('of one namespace has its name and selects it', () => {
    const { name, webhooks } = wanted({ namespace: 'team-a' })
    expect(name).toBe('landscaper-validation-webhook-team-a')
    expect(webhooks[0]?.['namespaceSelector']).toEqual({
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['team-a'] }],
    })
  })
})

describe('the configuration of what is changed', () => {
  const names = WINGS['landscaper']?.admission
  const changes = (asked: Partial<WebhookClient> = {}) =>
    names && mutatingConfiguration(names, ADMISSIONS['landscaper'] ?? [], { ...ASKED, ...asked })

  it('has an entry for what is set, and one for what goes, of the kinds that people steer', () => {
    const { kind, name, webhooks = [] } = changes() ?? {}
    expect([kind, name]).toEqual(['MutatingWebhookConfiguration', 'landscaper-mutation-webhook'])
    expect(webhooks.map((one) => one.name)).toEqual(
      ['deployitems', 'executions', 'installations'].flatMap((plural) =>
        ['steered-by', 'steered-by-gone'].map((one) => `${plural}.${one}.mutation.landscaper.gardener.cloud`),
      ),
    )
    expect(webhooks[0]).toMatchObject({
      sideEffects: 'None',
      reinvocationPolicy: 'IfNeeded',
      objectSelector: {},
      clientConfig: { service: { path: '/mutate' } },
    })
  })

  it('holds nothing up while nobody answers, but for what is set where the operator wants it', () => {
    const policies = (recordPolicy: WebhookClient['recordPolicy']) =>
      new Set(
        changes({ recordPolicy })?.webhooks.map(({ name, failurePolicy }) =>
          [name.split('.')[1], failurePolicy].join(),
        ),
      )
    expect(policies('Ignore')).toEqual(new Set(['steered-by,Ignore', 'steered-by-gone,Ignore']))
    expect(policies('Fail')).toEqual(new Set(['steered-by,Fail', 'steered-by-gone,Ignore']))
  })

  it('is none where no rule changes anything', () => {
    const rules = ADMISSIONS['landscaper']?.filter(({ mutations }) => mutations === undefined) ?? []
    expect(rules).toHaveLength(1)
    expect(names && mutatingConfiguration(names, rules, ASKED)).toBeUndefined()
  })
})

describe('an entry for rules about metadata', () => {
  it('stands beside that of the kind, and holds nothing up while nobody answers', () => {
    const [names, [rules]] = [WINGS['landscaper']?.admission, ADMISSIONS['landscaper'] ?? []]
    if (names === undefined || rules === undefined) throw new Error('the wing has no rules')
    const metadata = { asked: { finalizersGone: ['a/b'] }, validate: () => [] }
    const { webhooks } = validatingConfiguration(names, [{ ...rules, metadata }], ASKED)
    expect(webhooks.map(({ name, failurePolicy }) => [name, failurePolicy])).toEqual([
      ['deployitems.validation.landscaper.gardener.cloud', 'Fail'],
      ['deployitems.metadata.validation.landscaper.gardener.cloud', 'Ignore'],
    ])
    expect(webhooks[1]?.['matchConditions']).toEqual([
      {
        name: 'is-asked-about',
        expression:
          '(oldObject != null && has(oldObject.metadata.finalizers) && "a/b" in oldObject.metadata.finalizers && !(has(object.metadata.finalizers) && "a/b" in object.metadata.finalizers))',
      },
    ])
    expect(webhooks[0]).toEqual(validatingConfiguration(names, [rules], ASKED).webhooks[0])
  })
})

describe('an entry for deletions', () => {
  it('is there where these are counted, asks once of each, and holds nothing up for longer than a second', () => {
    const names = WINGS['chaos']?.admission
    if (names === undefined) throw new Error('the wing says no names')
    const { webhooks } = validatingConfiguration(names, ADMISSIONS['chaos'] ?? [], ASKED)
    const ofDeletions = webhooks.filter(({ rules }) => JSON.stringify(rules).includes('DELETE'))
    expect(ofDeletions).toMatchObject([
      {
        name: 'disruptions.deleted.validation.chaos.datadoghq.com',
        rules: [{ operations: ['DELETE'], resources: ['disruptions'] }],
        matchConditions: [{ expression: '!has(oldObject.metadata.deletionTimestamp)' }],
        failurePolicy: 'Ignore',
        timeoutSeconds: 1,
        sideEffects: 'None',
      },
    ])
    expect(wanted().webhooks.filter(({ rules }) => JSON.stringify(rules).includes('DELETE'))).toEqual([])
  })
})

describe('an entry for defaults', () => {
  it('is asked of what is new or changed, and is as strict as the rules while nobody answers', () => {
    const [names, [rules]] = [WINGS['landscaper']?.admission, ADMISSIONS['landscaper'] ?? []]
    if (names === undefined || rules === undefined) throw new Error('the wing has no rules')
    const label: Mutation = { name: 'label', asked: { spec: true }, whenAway: 'failure-policy', mutate: () => [] }
    const [entry] = mutatingConfiguration(names, [{ ...rules, mutations: [label] }], ASKED)?.webhooks ?? []
    expect(entry).toMatchObject({
      name: 'deployitems.label.mutation.landscaper.gardener.cloud',
      failurePolicy: 'Fail',
      matchConditions: [
        {
          expression:
            '(!has(object.metadata.deletionTimestamp) && (oldObject == null || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)))',
        },
      ],
    })
  })
})
