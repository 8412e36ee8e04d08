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

function wanted(filter: Partial<WebhookClient> = {}) {
  const names = WINGS['landscaper']?.admission
  if (names === undefined) throw new Error('the wing says no names')
  return validatingConfiguration(names, ADMISSIONS['landscaper'] ?? [], { ...ASKED, ...filter })
}

describe('the validating configuration', () => {
  it('has the names of the original Landscaper', () => {
    const { name, webhooks } = wanted()
    expect(name).toBe('landscaper-validation-webhook')
    const ofSpecs = webhooks.map((one) => one.name).filter((one) => !one.includes('.metadata.'))
    expect(ofSpecs).toEqual(
      ['deployitems', 'executions', 'installations', 'targets'].map(
        (plural) => `${plural}.validation.landscaper.gardener.cloud`,
      ),
    )
  })

  it('selects created objects and changes of the spec, except labelled objects and deletions', () => {
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

  it('selects foreign kinds only for mutations, and only objects with their label', () => {
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

  it('refers to the Service or to a URL', () => {
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

describe('the mutating configuration', () => {
  const names = WINGS['landscaper']?.admission
  const changes = (filter: Partial<WebhookClient> = {}) =>
    names && mutatingConfiguration(names, ADMISSIONS['landscaper'] ?? [], { ...ASKED, ...filter })

  it('has one entry for set and one for removed annotations of steered kinds', () => {
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

  it('has failurePolicy Ignore, except where the operator chose Fail for records', () => {
    const policies = (recordPolicy: WebhookClient['recordPolicy']) =>
      new Set(
        changes({ recordPolicy })?.webhooks.map(({ name, failurePolicy }) =>
          [name.split('.')[1], failurePolicy].join(),
        ),
      )
    expect(policies('Ignore')).toEqual(new Set(['steered-by,Ignore', 'steered-by-gone,Ignore']))
    expect(policies('Fail')).toEqual(new Set(['steered-by,Fail', 'steered-by-gone,Ignore']))
  })

  it('is absent without mutations', () => {
    const rules = ADMISSIONS['landscaper']?.filter(({ mutations }) => mutations === undefined) ?? []
    expect(rules).toHaveLength(1)
    expect(names && mutatingConfiguration(names, rules, ASKED)).toBeUndefined()
  })
})

describe('the entry for metadata rules', () => {
  it('is separate and has failurePolicy Ignore', () => {
    const [names, [rules]] = [WINGS['landscaper']?.admission, ADMISSIONS['landscaper'] ?? []]
    if (names === undefined || rules === undefined) throw new Error('the wing has no rules')
    const metadata = { filter: { finalizersRemoved: ['a/b'] }, validate: () => [] }
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

describe('the entry for deletions', () => {
  it('exists for counted kinds, matches each deletion once, and times out after 1 s', () => {
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

describe('the entry for defaults', () => {
  it('selects new and changed objects with the failurePolicy of validation', () => {
    const [names, [rules]] = [WINGS['landscaper']?.admission, ADMISSIONS['landscaper'] ?? []]
    if (names === undefined || rules === undefined) throw new Error('the wing has no rules')
    const label: Mutation = {
      name: 'label',
      filter: { spec: true },
      whenUnavailable: 'failure-policy',
      mutate: () => [],
    }
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
