import { expect } from 'chai'
import { cacheFolder } from '../../src/data/cache-folder.js'

describe('the cache folder', () => {
  it('is the one that is named, else that of the system, else one in the home', () => {
    const all = { ARBALEST_CACHE: '/own', XDG_CACHE_HOME: '/caches', HOME: '/home/me' }
    expect(cacheFolder(all)).to.equal('/own')
    expect(cacheFolder({ ...all, ARBALEST_CACHE: '' })).to.equal('/caches/arbalest')
    expect(cacheFolder({ HOME: '/home/me', XDG_CACHE_HOME: '' })).to.equal('/home/me/.cache/arbalest')
    expect(cacheFolder({})).to.equal(undefined)
  })
})
