// Whether requests are counted as they have to be; the text is in the form of a real API server's /metrics.

import { describe, expect, it } from 'vitest'

import { parseCounters, requestsBetween } from './requests.ts'

describe('The counters of an API server', () => {
  it('are summed by verb, resource and code, without leases and requests without a resource', () => {
    const text = [
      '# TYPE apiserver_request_total counter',
      line({ verb: 'POST', resource: 'installations', code: '201', dry_run: '' }, 3),
      line({ verb: 'POST', resource: 'installations', code: '201', dry_run: 'All' }, 1),
      line({ verb: 'PATCH', resource: 'installations', subresource: 'status', code: '200' }, 2),
      line({ verb: 'PUT', resource: 'leases', group: 'coordination.k8s.io', code: '200' }, 50),
      line({ verb: 'GET', code: '200' }, 7),
      'apiserver_request_terminations_total{verb="POST",resource="installations",code="201"} 9',
    ].join('\n')
    expect([...parseCounters(text)]).toEqual([
      ['POST installations 201', 4],
      ['PATCH installations/status 200', 2],
    ])
  })
})

describe('The requests between two readings', () => {
  it('do not contain successful requests of the bench', () => {
    const before = new Map([['POST installations 201', 10]])
    const after = new Map([
      ['POST installations 409', 2],
      ['POST installations 201', 14],
    ])
    expect(requestsBetween(before, after, { 'POST installations': 3 })).toMatchObject({ writes: 3, conflicts: 2 })
  })

  it('are counted as writes, Kubernetes Events, conflicts, and reads without watches', () => {
    const after = new Map([
      ['PATCH installations/status 200', 5],
      ['PUT deployitems 409', 1],
      ['POST events 201', 4],
      ['PATCH events 409', 1],
      ['GET executions 404', 2],
      ['LIST deployitems 200', 3],
      ['WATCH deployitems 200', 8],
    ])
    expect(requestsBetween(new Map(), after, {})).toEqual({
      writes: 6,
      events: 5,
      reads: 5,
      conflicts: 2,
      byResource: { 'PATCH installations/status': 5, 'PUT deployitems': 1, 'POST events': 4, 'PATCH events': 1 },
    })
  })

  it('are 0 when no counter has changed', () => {
    const same = new Map([['POST events 201', 4]])
    expect(requestsBetween(same, same, {})).toMatchObject({ writes: 0, events: 0, byResource: {} })
  })
})

function line(labels: Readonly<Record<string, string>>, value: number): string {
  const all = Object.entries({ component: 'apiserver', group: '', resource: '', subresource: '', ...labels })
  return `apiserver_request_total{${all.map(([name, text]) => `${name}="${text}"`).join(',')}} ${value}`
}
