// The number of filters of a network disruption. Source: spec/chaos.md 1.5, 3.6.

import { describe, expect, it } from 'vitest'

import { networkProblems } from '../../../../../workflows/chaos/disruption/rules/network.ts'

const many = <One>(length: number, one: One): readonly One[] => Array.from({ length }, () => one)
const of = (hosts: number, services: number) => ({
  drop: 10,
  hosts: many(hosts, { host: '10.0.0.1' }),
  services: many(services, { name: 'db', namespace: 'shop' }),
})

describe('the number of filters of a network', () => {
  it.each([
    [2048, 0],
    [2046, 1],
    [0, 1024],
  ])('may be as many as %i hosts and %i services take', (hosts, services) => {
    expect(networkProblems(of(hosts, services), 'spec.network')).toEqual([])
  })

  it.each([
    [2049, 0, 2049],
    [2047, 1, 2049],
    [1, 1024, 2049],
  ])('may not be as many as %i hosts and %i services take', (hosts, services, count) => {
    const found = `hosts, Services and services of clouds with ${count} addresses`
    expect(networkProblems(of(hosts, services), 'spec.network')).toEqual([
      { field: 'spec.network', found, expected: 'at most 2048' },
    ])
  })

  it('does not include allowed hosts', () => {
    const allowedHosts = many(100, { host: '10.0.0.2' })
    expect(networkProblems({ ...of(2048, 0), allowedHosts }, 'spec.network')).toEqual([])
  })
})
