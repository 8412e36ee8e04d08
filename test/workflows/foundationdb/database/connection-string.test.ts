import { describe, expect, it } from 'vitest'

import {
  connectionIDFrom,
  descriptionFor,
  formatConnectionString,
  hasSameCoordinators,
  parseConnectionString,
} from '../../../../workflows/foundationdb/database/connection-string.ts'

describe('a connection string', () => {
  it('has a description, an ID and coordinators', () => {
    const text = 'my_db:abc123@10.1.1.1:4501,[::1]:4500:tls,pod.db.ns.svc:4501'
    const parsed = parseConnectionString(text)
    expect(parsed).toEqual({
      description: 'my_db',
      id: 'abc123',
      coordinators: ['10.1.1.1:4501', '[::1]:4500:tls', 'pod.db.ns.svc:4501'],
    })
    expect(formatConnectionString(parsed)).toBe(text)
  })

  it.each([
    ['db@10.1.1.1:4501', 'connection string: text: found "db@10.1.1.1:4501"; expected description:id@address,address'],
    ['db:id', 'connection string: text: found "db:id"; expected'],
    ['my-db:id@10.1.1.1:4501', 'connection string: description: found "my-db"; expected letters, digits and _'],
    ['db:i-d@10.1.1.1:4501', 'connection string: id: found "i-d"; expected letters and digits'],
    ['db:id@', 'connection string: coordinators: found ""; expected addresses such as 10.0.0.1:4501'],
    ['db:id@10.1.1.1', 'connection string: coordinators: found "10.1.1.1"'],
    ['db:id@10.1.1.1:4501,', 'connection string: coordinators: found ""'],
    ['db:id@10.1.1.1:4501\nx', 'connection string: coordinators: found "10.1.1.1:4501\\nx"'],
  ])('%j is rejected', (text, message) => {
    expect(() => parseConnectionString(text)).toThrow(message)
  })

  it('is the same for the same coordinators in another order', () => {
    const [one, two, three] = ['d:i@1.1.1.1:1,2.2.2.2:2', 'd:j@2.2.2.2:2,1.1.1.1:1', 'd:i@1.1.1.1:1'].map((text) =>
      parseConnectionString(text),
    )
    if (one === undefined || two === undefined || three === undefined) throw new Error('expected three strings')
    expect([hasSameCoordinators(one, two), hasSameCoordinators(one, three)]).toEqual([true, false])
  })

  it('of a new database derives from the name and the UID of the cluster', () => {
    expect(descriptionFor('sample-cluster.1')).toBe('sample_cluster_1')
    expect(connectionIDFrom('uid-1')).toMatch(/^[0-9a-f]{32}$/)
    expect(connectionIDFrom('uid-1')).not.toBe(connectionIDFrom('uid-2'))
  })
})
