import { describe, expect, it } from 'vitest'
import { insidePath, outsidePath } from '../../../../activities/foundationdb/simulator/container-root.ts'

describe('the root folder of a container', () => {
  it.each([
    ['/pod', '/var/fdb', '/pod/var/fdb', '/var/fdb'],
    ['/pod', '/pod/var', '/pod/var', '/var'],
    ['/pod', '/pods', '/pod/pods', '/pods'],
    ['/pod', 'fdb.cluster', 'fdb.cluster', 'fdb.cluster'],
    [undefined, '/var/fdb', '/var/fdb', '/var/fdb'],
  ])('%s: the path %s is %s outside and %s inside', (root, path, outside, inside) => {
    const env = { FDB_SIM_ROOT: root }
    expect([outsidePath(path, env), insidePath(path, env)]).toEqual([outside, inside])
  })
})
