// Tests that Pawl shows the API server's reason for a rejected field, without any value. The messages are from
// Kubernetes 1.34.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refusedField } from '../../../activities/kube/redact-message.ts'

describe('what the API server says about a field', () => {
  it.each([
    ['Forbidden: field is immutable when `immutable` is set', 'Forbidden: field is immutable when `immutable` is set'],
    [
      'Invalid value: {"apiGroup":"rbac","kind":"Role","name":"canary"}: cannot change roleRef',
      'Invalid value: cannot change roleRef',
    ],
    ['Invalid value: "canary: x\\": y": field is immutable', 'Invalid value: field is immutable'],
    [
      'Invalid value: core.PodTemplateSpec{Spec:core.PodSpec{Env:[]string{"canary: }"}, Uid:(*int64)(0xc0)}}: field is immutable',
      'Invalid value: field is immutable',
    ],
    [
      'Invalid value: 70000: must be between 1 and 65535, inclusive',
      'Invalid value: must be between 1 and 65535, inclusive',
    ],
    ['Invalid value: null: must not be null', 'Invalid value: must not be null'],
    ['Required value: must specify a volume type', 'Required value: must specify a volume type'],
    ['Required value', 'Required value'],
    [
      'Unsupported value: "canary": supported values: "ClusterIP", "NodePort"',
      'Unsupported value: supported values: "ClusterIP", "NodePort"',
    ],
    ['Duplicate value: "canary"', 'Duplicate value'],
    ['Duplicate value: {"name":"canary"}', 'Duplicate value'],
    ['Too long: may not be more than 1048576 bytes', 'Too long: may not be more than 1048576 bytes'],
    ['Too many: 12: must have at most 10 items', 'Too many: must have at most 10 items'],
    [
      'Invalid value: "object": the type cannot be changed; give the item another name',
      'Invalid value: the type cannot be changed; give the item another name',
    ],
    [
      'Invalid value: "string": spec.a in body must be of type integer: "string"',
      'Invalid value: spec.a in body must be of type integer',
    ],
    [
      'Forbidden: pod updates may not change fields other than `spec.tolerations`\n  core.PodSpec{\n-   Env: "canary",\n',
      'Forbidden: pod updates may not change fields other than `spec.tolerations`',
    ],
    ['Forbidden: differs: core.Env{Value:canary}', 'Forbidden: differs:'],
    ['Forbidden: it was map[string]string{"a":"canary"}', 'Forbidden: it was'],
    ['Invalid value: "x": must equal "canary" of the old object', 'Invalid value: must equal "..." of the old object'],
    ['Invalid value: canary with spaces: must be short', 'Invalid value'],
    ['Invalid value: {"open":"canary: must be short', 'Invalid value'],
  ])('is shown without values: %s', (message, expected) => {
    expect(refusedField(message, undefined)).toBe(expected)
  })

  it('is undefined when the words have another form', () => {
    expect(refusedField('canary: x', undefined)).toBeUndefined()
    expect(refusedField('', undefined)).toBeUndefined()
  })

  it('has no text of the request body, also when a rule of the CRD quotes it', () => {
    const sent = {
      metadata: { name: 'shop' },
      spec: { password: 'canary-1', list: ['canary two'] },
      data: { key: btoa('canary3') },
    }
    const message = 'Invalid value: "object": shop has the password canary-1, \'canary two\' and canary3'
    expect(refusedField(message, sent)).toBe("Invalid value: shop has the password ***, '***' and ***")
  })

  it('never shows a value', () => {
    const value = fc.oneof(
      fc.string({ minLength: 4 }),
      fc.dictionary(fc.string(), fc.string({ minLength: 4 }), { minKeys: 1 }),
    )
    fc.assert(
      fc.property(
        value,
        fc.constantFrom('Invalid value', 'Unsupported value', 'Duplicate value'),
        (secret, mistake) => {
          const shown = refusedField(`${mistake}: ${JSON.stringify(secret)}: must be short`, { secret })
          expect([`${mistake}: must be short`, `${mistake}: *** be short`, `${mistake}: must be ***`]).toContain(shown)
        },
      ),
    )
  })
})
