// Stops an HTTP server within its pod's grace period.
//
//   C1. Requests that have begun are answered, for at most the given time.
//   C2. A connection without a request does not delay the end. Node counts a connection on which the client has never sent a
//       request as active, and clients such as the API server open connections in advance.

import type { Server } from 'node:http'

/** @returns the function that stops the server. Call it before the first request. */
export function closableServer(server: Server, longestMs: number): () => Promise<void> {
  let running = 0
  let isClosing = false
  const closeIfIdle = () => {
    if (isClosing && running === 0) server.closeAllConnections()
  }
  server.prependListener('request', (_request, response) => {
    running += 1
    response.once('close', () => {
      running -= 1
      closeIfIdle()
    })
  })
  return async () => {
    isClosing = true
    const forcedClose = setTimeout(() => server.closeAllConnections(), longestMs)
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    closeIfIdle()
    await closed
    clearTimeout(forcedClose)
  }
}
