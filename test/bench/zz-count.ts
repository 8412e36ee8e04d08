import { setTimeout as sleep } from 'node:timers/promises'
import { createKubeClient } from '../../activities/kube/client.ts'
import { Load } from './load.ts'
import { openSet } from './servers.ts'
import { readStatements, resetStatements } from './statements.ts'
const set = await openSet({ dataDir: undefined, temporalStore: 'sqlite', forProfile: true, signal: new AbortController().signal, say: () => undefined })
const kube = createKubeClient({ kubeconfigPath: set.kubeconfigPath, userAgent: 'bench' })
const options = { timeoutMs: 60000, deployers: ['mock'] } as never
for (let i = 0; i < 3; i++) {
  const load = await Load.open(kube, { installations: i === 2 ? 1 : 3, items: 5, shape: 'wide', deployer: 'mock' }, set)
  await sleep(2000)
  await resetStatements(set.databaseUrl)
  const t = Date.now()
  await load.run('create', options)
  await sleep(400)
  const ms = Date.now() - t
  const used = await readStatements(set.databaseUrl)
  await sleep(1500)
  await resetStatements(set.databaseUrl)
  await sleep(ms)
  const idle = new Map((await readStatements(set.databaseUrl)).map((s) => [s.query, s.calls]))
  if (i === 2) {
    let sum = 0
    for (const s of used) { const n = s.calls - (idle.get(s.query) ?? 0); if (n <= 0) continue; sum += n; console.log(String(n).padStart(4), s.totalMs.toFixed(1).padStart(7), s.query.replaceAll(/\s+/g, ' ').slice(0, 150)) }
    console.log('sum', sum, 'ms', ms)
  }
  await load.run('delete', options)
  await load.close()
}
await kube.close()
await set.stop()
