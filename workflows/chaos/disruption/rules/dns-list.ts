// The spelling of 2021, `dns: [{ hostname, record }]`, becomes that of today, `dns: { records: [...] }`, before it is judged and stored. Source:
// spec/chaos.md 1.6.

import type { FieldChange, Mutation } from '../../../kit/index.ts'
import { fieldsOf } from '../../json-fields.ts'

/** @param template where the spec of a Disruption stands, such as `['spec']`. */
export function dnsListMutation(template: readonly string[]): Mutation {
  return {
    name: 'dns-list',
    filter: { spec: true },
    whenUnavailable: 'pass',
    mutate: ({ object }) => dnsListChange(object, template),
  }
}

function dnsListChange(object: unknown, template: readonly string[]): readonly FieldChange[] {
  const spec = template.reduce<unknown>((at, name) => fieldsOf(at)[name], object)
  const { dns } = fieldsOf(spec)
  return Array.isArray(dns) ? [{ path: [...template, 'dns'], value: { records: dns as readonly unknown[] } }] : []
}
