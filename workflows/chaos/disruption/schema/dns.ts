// Schema of `spec.dns`, the disruption kind that changes DNS answers. Wire format: spec/chaos.md 1.6. The stored format
// is an object. The webhook converts the list `spec.dns[]`, the format of chaos-controller in 2021 (rules/dns.ts),
// because a field that may be a list or an object would have no schema. The texts are the descriptions in the CRD.

import {
  type Field,
  integer,
  type JsonValue,
  list,
  oneOf,
  record,
  required,
  text,
  type ValueOf,
} from '../../../kit/index.ts'

export const RECORD_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'SRV'] as const

// `record` is the schema of an object in `pawl/kit`; the field `record` is a DNS record.
const dnsRecord = record('The answer for a name.', {
  hostname: required(text('The name in the query.', { minLength: 1, maxLength: 253 })),
  record: required(
    record('The DNS record of the answer.', {
      type: required(oneOf('The record type in the query.', RECORD_TYPES)),
      value: required(
        text(
          'Addresses separated by commas, or NXDOMAIN, DROP, SERVFAIL or RANDOM; for MX, SRV and TXT in the format of zone files.',
          {
            minLength: 1,
          },
        ),
      ),
      ttl: integer('How long resolvers may cache the answer, in seconds.', { minimum: 0 }),
    }),
  ),
})

// Port 0 and protocol '' mean the default, like a missing field.
const asObject = record('Changes the answers to DNS queries; requires level pod.', {
  records: required(list('The answers.', dnsRecord, { minItems: 1, maxItems: 1024 })),
  port: integer('The port of the DNS queries; default: 53.', { minimum: 0, maximum: 65535 }),
  protocol: oneOf('The protocol of the DNS queries; default: both.', ['udp', 'tcp', 'both', '']),
})

/**
 * The API server prunes unknown fields before it calls mutating webhooks. `x-kubernetes-preserve-unknown-fields` keeps
 * the fields of a list's entries until the webhook has converted the list; the API server checks types afterwards.
 */
export const dnsField: Field<ValueOf<typeof asObject> & Readonly<Record<string, JsonValue>>> = {
  ...asObject,
  schema: { ...asObject.schema, 'x-kubernetes-preserve-unknown-fields': true },
}

export type DnsDisruption = ValueOf<typeof asObject>
export type DnsRecord = ValueOf<typeof dnsRecord>
