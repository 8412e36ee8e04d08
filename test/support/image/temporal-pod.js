// Runs Temporal's development server in a pod of a test: `node temporal-pod.js POD-IP PROGRAM ARGUMENT...`. Parts of the server
// connect to each other at 127.0.0.1, so it cannot listen on the address of a pod only, and all addresses of the machine
// would conflict with other servers. It listens on 127.0.0.1, and this program forwards the connections of the pod.

import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { kill } from 'node:process'

const PORT = 7233
const [podIP, program, ...args] = process.argv.slice(2)

const unused = createServer().listen(0, '127.0.0.1')
await once(unused, 'listening')
const { port } = unused.address()
unused.close()

const own = args.filter((word) => !word.startsWith('--ip='))
const server = spawn(program, [...own, '--ip=127.0.0.1', `--port=${port}`], { stdio: 'inherit' })
server.once('exit', (code, signal) => process.exit(code ?? (signal === null ? 0 : 1)))
process.on('SIGTERM', () => kill(server.pid, 'SIGTERM'))

createServer((client) => {
  const target = connect(port, '127.0.0.1')
  for (const [from, to] of [
    [client, target],
    [target, client],
  ]) {
    from.pipe(to)
    from.on('error', () => to.destroy())
  }
}).listen(PORT, podIP)
