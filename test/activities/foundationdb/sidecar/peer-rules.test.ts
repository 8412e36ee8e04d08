import { describe, expect, it } from 'vitest'
import { matchesRules } from '../../../../activities/foundationdb/sidecar/peer-rules.ts'

const certificate = {
  subject: { CN: 'operator', O: 'Company', OU: ['one', 'two'] },
  issuer: { CN: 'authority' },
  subjectaltname: 'DNS:a.example.com, IP Address:10.0.0.1',
}

describe('a peer verification rule', () => {
  it.each([
    ['', true],
    ['S.CN=operator', true],
    ['CN=operator,O=Company,I.CN=authority', true],
    ['CN=operator,O=Other', false],
    ['CN=other;CN=operator', true],
    ['OU=two', true],
    ['CN>=oper', true],
    ['CN<=tor', true],
    ['CN<=oper', false],
    ['S.subjectAltName=DNS:a.example.com', true],
    ['S.subjectAltName<=DNS:.example.com', true],
    ['S.subjectAltName<=IP Address:.example.com', false],
    ['Issuer.CN=authority', true],
    ['Root.CN=authority', false],
    ['nonsense', false],
  ])('%s matches: %s', (rules, expected) => {
    expect(matchesRules(certificate, rules)).toBe(expected)
  })
})
