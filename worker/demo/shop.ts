// The shop of the chapter about chaos and its visitors: `shop.ts serve PORT` and `shop.ts visit PORT`. Each is a
// separate process and ends with the demo.

import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

// An injector excludes traffic to the node, which is 127.0.0.1 here, so neither shop nor visitors may use this address.
const SHOP = '127.0.0.2'
const VISITORS = '127.0.0.3'

const PAGE = 'a page of the shop '.repeat(110)
const WORK_MS = 5
const VISITOR_COUNT = 8
const PAUSE_MS = 20
const PATIENCE_MS = 10_000
const SECOND_MS = 1000

/** Prints its port when it answers. */
function serve(port: number): void {
  const server = createServer((_request, answer) => void setTimeout(() => answer.end(PAGE), WORK_MS))
  server.listen(port, SHOP, () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
}

/** Prints the number of pages of each second. */
function visit(port: number): void {
  const agent = new Agent({ keepAlive: true, maxSockets: VISITOR_COUNT })
  let pages = 0
  const page = () =>
    new Promise<void>((done) => {
      const request = get({ host: SHOP, localAddress: VISITORS, port, agent, timeout: PATIENCE_MS }, (answer) => {
        answer
          .resume()
          .on('end', () => pages++)
          .on('close', done)
      })
      // Requests are repeated while the shop is down.
      request.on('timeout', () => request.destroy()).on('error', () => done())
    })
  const stroll = async () => {
    for (;;) {
      await page()
      await sleep(PAUSE_MS)
    }
  }
  for (let visitor = 0; visitor < VISITOR_COUNT; visitor++) void stroll()
  setInterval(() => {
    process.stdout.write(`${pages}\n`)
    pages = 0
  }, SECOND_MS)
}

// The pipe from the demo closes when the demo ends.
process.stdin.resume().on('end', () => process.exit(0))
const [role, port] = process.argv.slice(2)
if (role === 'serve') serve(Number(port))
else visit(Number(port))
