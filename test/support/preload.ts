import { afterAll } from 'bun:test';
import { stopTestServer } from './database.ts';

afterAll(stopTestServer);
