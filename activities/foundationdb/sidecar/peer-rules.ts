// Checks client certificates by FoundationDB's peer verification rules, for example
// `S.CN=operator,I.O=Company;S.subjectAltName<=DNS:.example.com`. One of the rules between semicolons must match, with
// all of its parts.

/** A client certificate as Node.js reports it. */
export interface PeerCertificate {
  readonly subject?: Readonly<Record<string, unknown>>
  readonly issuer?: Readonly<Record<string, unknown>>
  /** For example `DNS:a.example.com, DNS:b.example.com`. */
  readonly subjectaltname?: string | undefined
}

const SCOPES: Readonly<Record<string, 'subject' | 'issuer'>> = {
  S: 'subject',
  Subject: 'subject',
  I: 'issuer',
  Issuer: 'issuer',
}
const FIELDS = new Set(['CN', 'C', 'L', 'ST', 'O', 'OU', 'UID', 'DC'])

/** Whether the certificate satisfies the rules. Without rules, each certificate of the authority does. */
export function matchesRules(certificate: PeerCertificate, rules: string | undefined): boolean {
  if (rules === undefined || rules === '') return true
  return rules.split(';').some((rule) => rule.split(',').every((part) => matchesPart(certificate, part)))
}

function matchesPart(certificate: PeerCertificate, part: string): boolean {
  const [, scopeName = 'S', field = '', operator = '', expected = ''] =
    /^(?:([A-Za-z]+)\.)?([A-Za-z]+)([<>]?)=(.*)$/.exec(part) ?? []
  const scope = SCOPES[scopeName]
  if (field === 'subjectAltName' && scope === 'subject') {
    return (certificate.subjectaltname ?? '').split(', ').some((name) => matchesName(name, operator, expected))
  }
  if (scope === undefined || !FIELDS.has(field)) return false
  return [certificate[scope]?.[field]].flat().some((value) => matches(String(value), operator, expected))
}

/** Compares names such as `DNS:host.example.com`; the types must be equal. */
function matchesName(name: string, operator: string, expected: string): boolean {
  const [type, value] = splitName(name)
  const [expectedType, expectedValue] = splitName(expected)
  return type === expectedType && matches(value, operator, expectedValue)
}

function splitName(name: string): [string, string] {
  const colon = name.indexOf(':')
  return [name.slice(0, colon), name.slice(colon + 1)]
}

function matches(value: string, operator: string, expected: string): boolean {
  if (operator === '>') return value.startsWith(expected)
  return operator === '<' ? value.endsWith(expected) : value === expected
}
